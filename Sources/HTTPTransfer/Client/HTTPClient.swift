public import EventLoop

/// Sends requests over kept-alive connections that all of them share, on an event loop's thread.
///
/// Redirects are not followed, answers are not decompressed, certificates are always verified. Close the
/// client before its loop is shut down.
public actor HTTPClient {
  /// The loop's own executor: a task that runs on the loop enters the client without changing threads.
  nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let loop: EventLoop
  private let configuration: Configuration
  private let transfers: Transfers
  private var nextNumber: UInt64 = 0
  /// Addresses that were checked already: most clients call a few, thousands of times.
  private var destinations: [String: Destination] = [:]

  private static let knownDestinations = 32

  /// A client that opens nothing before its first request.
  public init(loop: EventLoop, configuration: Configuration = Configuration()) {
    self.loop = loop
    self.configuration = configuration
    transfers = Transfers(configuration: configuration)
  }

  deinit {
    // No request is in flight, since each keeps the client. What is open is closed where it was used.
    guard !transfers.isClosed else { return }
    let transfers = transfers
    loop.execute { transfers.close() }
  }

  /// Sends a request and waits for the whole answer, of any status.
  ///
  /// Cancelling the task takes the transfer off its connection at once.
  /// - Parameters:
  ///   - request: What to send.
  ///   - deadline: How long all of it may take, from now.
  /// - Throws: `TransferError` when there is no whole answer.
  public func send(_ request: Request, deadline: Duration) async throws(TransferError) -> Response {
    guard !transfers.isClosed else { throw .clientClosed(sent: false) }
    guard !Task.isCancelled else { throw .cancelledBefore }
    let prepared = try PreparedRequest(
      request, to: destination(request.url), deadline: deadline, configuration: configuration)
    nextNumber += 1
    let number = nextNumber
    let ending = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(prepared, number, continuation)
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.transfers.cancel(number) } }
    }
    return try ending.get()
  }

  /// Ends the connection by which an answer came that cannot be its request's: what follows on it would be no better.
  /// A connection of HTTP/2 stays, since each answer names its request there.
  public func endConnection(of response: Response) {
    transfers.endConnection(of: response)
  }

  /// Ends what is in flight with the error `closed`, and closes all connections.
  public func close() {
    transfers.close()
  }

  private func destination(_ url: String) throws(TransferError) -> Destination {
    if let known = destinations[url] { return known }
    let destination = try Destination(url, plainHTTP: configuration.plainHTTP)
    if destinations.count >= Self.knownDestinations { destinations = [:] }
    destinations[url] = destination
    return destination
  }

  private func start(
    _ prepared: PreparedRequest, _ number: UInt64, _ continuation: CheckedContinuation<Transfer.Ending, Never>
  ) {
    let transfer = Transfer(
      number: number, host: prepared.destination.host, mayBeRepeated: prepared.request.mayBeRepeated,
      pin: prepared.request.pin, segments: prepared.body.segments, configuration: configuration)
    transfer.continuation = continuation
    startMultiHandle()
    guard let handle = transfers.takeHandle() else { return transfer.end(.failure(.noHandle)) }
    guard prepared.apply(to: handle) else {
      handle.destroy()
      return transfer.end(.failure(.noHandle))
    }
    handle.transfer = transfer
    if !transfers.start(handle, transfer) { transfer.end(.failure(.noHandle)) }
  }

  private func startMultiHandle() {
    guard !transfers.isStarted else { return }
    transfers.begin(
      with: MultiHandle(
        loop: loop, configuration: configuration,
        onReady: { [weak self] descriptor, bits in
          self?.assumeIsolated { $0.transfers.advance(descriptor, bits) }
        },
        onTimer: { [weak self] in
          self?.assumeIsolated { $0.transfers.timeout() }
        }))
  }
}
