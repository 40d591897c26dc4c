public import EventLoop
public import Support

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

/// What a client does for all its requests.
public struct Configuration: Sendable {
  /// Which servers may be spoken to in plaintext.
  public enum PlainHTTP: Sendable {
    /// `localhost`, 127.0.0.0/8 and ::1 only.
    case loopbackOnly
    /// Any: tokens and images then cross the network readable to all on the way.
    case anywhere
  }

  /// By which way servers are reached.
  public enum Proxy: Sendable {
    /// Directly, whatever the environment says.
    case none
    /// As the variables `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` say.
    case environment
    /// Through the proxy at an address.
    case url(String)
  }

  /// How many connections are kept open for later requests; at least the number of requests in flight,
  /// or connections are closed and opened again all the time.
  public var maximumConnections = 256
  /// How many connections a server may get; further requests wait for one to be free. 0 for no limit.
  public var maximumConnectionsPerHost = 0
  /// How long resolving, connecting and TLS may take together, within the deadline of the call.
  public var connectTimeout: Duration = .seconds(10)
  /// The most bytes of an answer's body: an analysis is some kilobytes.
  public var answerLimit = 1 << 20
  /// The most bytes of an answer's header, interim answers included.
  public var headerLimit = 64 << 10
  /// A file of certificate authorities (PEM) that replaces the system's.
  public var certificateAuthorityFile: String?
  /// The public keys of which a server has to have one, beside a valid certificate: each `sha256//` and the SHA-256 of
  /// its SubjectPublicKeyInfo in base64, as `CURLOPT_PINNEDPUBLICKEY` has it. None: any key will do.
  public var pinnedKeys: [String] = []
  /// The certificate by which this client shows itself to a server that asks for one.
  public var clientIdentity: ClientIdentity?
  /// Which servers may be spoken to without TLS.
  public var plainHTTP = PlainHTTP.loopbackOnly
  /// By which way servers are reached.
  public var proxy = Proxy.none
  /// Whether answers tell when the server's certificate ends, which costs a little with each connection.
  public var readsCertificates = false
  /// The newest version of HTTP that is offered to a server by TLS, which then chooses. Uploads by HTTP/2 cost libcurl 7.88
  /// twice the processor: see docs/benchmarks.md.
  public var newestVersion = HTTPVersion.http1
  /// The `User-Agent` header.
  var userAgent = "analysis-queue"

  /// The defaults above.
  public init() {}
}

/// A client's certificate with its private key. It shows itself nowhere.
public struct ClientIdentity: Sendable, Redacted {
  let pem: [UInt8]

  /// The certificate, those of the authorities between, and its private key, all PEM text.
  public init(pem: [UInt8]) {
    self.pem = pem
  }
}

extension Configuration {
  /// Checks that requests to an address would be let out, so that a wrong setting is reported when it is
  /// read and not at the first request.
  ///
  /// - Throws: `invalidRequest` when the address is malformed; `refusedByPolicy` for another scheme than
  ///   `https`, plain `http` where it is not allowed, and a user name or password in the address.
  public func check(_ address: String) throws(TransferError) {
    guard !address.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw .invalidRequest("the address has a query or a fragment, and paths are added to its end")
    }
    let destination = try Destination(address, plainHTTP: plainHTTP)
    for key in pinnedKeys {
      // 32 bytes in base64. libcurl takes a text that is none for a file's name.
      let digits = key.dropFirst("sha256//".count)
      guard key.hasPrefix("sha256//"), digits.utf8.count == 44, digits.hasSuffix("="),
        digits.dropLast().utf8.allSatisfy(Self.isBase64)
      else {
        throw .invalidRequest("a pinned key is like sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
      }
      guard destination.scheme == "https" else {
        throw .refusedByPolicy("a public key is pinned, and plain http to \(destination.host) has none")
      }
    }
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
