internal import EventLoop
internal import HTTPTransfer

/// Fetches images from hosts that are allowed, and from nowhere else.
///
/// A name is looked up once; when any of its addresses is not a public one the host is refused, and otherwise the
/// transfer is held to the addresses that were judged, which a second look-up could not change any more. The
/// connection's own address is looked at again before anything is sent. No redirect is followed; there is no
/// proxy, no cookie and no account; the size is cut while it comes in.
actor RemoteImageFetcher {
  /// The loop's own executor, which the transfers run on too.
  nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let loop: EventLoop
  private let limits: FetchLimits
  private let network: NetworkDependencies
  private let client: HTTPClient
  private let line: FetchLine
  private var nextNumber: UInt64 = 0

  /// A fetcher that opens nothing before its first fetch. Close it before the loop is shut down.
  init(loop: EventLoop, limits: FetchLimits = FetchLimits(), network: NetworkDependencies = .system) {
    self.loop = loop
    self.limits = limits
    self.network = network
    line = FetchLine(capacity: limits.atOnce)
    var configuration = HTTPTransfer.Configuration()
    configuration.maximumConnections = limits.atOnce
    configuration.connectTimeout = limits.connect
    configuration.answerLimit = limits.bytes
    configuration.certificateAuthorityFile = network.certificateAuthorityFile
    configuration.proxy = .none
    if network.allowsPlainHTTP { configuration.plainHTTP = .anywhere }
    client = HTTPClient(loop: loop, configuration: configuration)
  }

  /// Ends what is being fetched.
  func close() async {
    await client.close()
  }

  /// Fetches what is at an address. Cancelling the task takes it off its connection at once.
  func fetch(_ address: RemoteAddress) async throws(RemoteImageError) -> FetchedImage {
    nextNumber += 1
    let number = nextNumber
    let isIn = await withTaskCancellationHandler {
      await line.enter(number)
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.line.remove(number) } }
    }
    guard isIn else { throw .cancelled }
    defer { line.leave() }
    let end = EventLoop.now + limits.whole
    let addresses = try await addresses(of: address.host)
    let response = try await response(of: address, at: addresses, until: end)
    switch response.status {
    case 200: return FetchedImage(bytes: response.body, freshness: Freshness(response.headers))
    case 300..<400: throw .redirected(address.host)
    default: throw .badStatus(address.host, response.status)
    }
  }

  private func response(
    of address: RemoteAddress, at addresses: [IPAddress], until end: ContinuousClock.Instant
  ) async throws(RemoteImageError) -> Response {
    let lookup = network.lookup
    let pin = AddressPin(addresses.map(\.description)) { peer in lookup.permits(peer) }
    let request = Request(.get, address.url, headers: ["Accept": "image/jpeg, image/png"], pin: pin)
    do throws(TransferError) {
      return try await client.send(request, deadline: end - EventLoop.now)
    } catch {
      throw RemoteImageError(error, host: address.host, limit: limits.bytes)
    }
  }

  /// The addresses of a host, each of them judged.
  private func addresses(of host: String) async throws(RemoteImageError) -> [IPAddress] {
    do throws(HostLookup.Failure) {
      return try await network.lookup.addresses(of: host, within: limits.connect, on: loop)
    } catch {
      switch error {
      case .cancelled: throw .cancelled
      case .notResolved(let reason): throw .notResolved(host, reason)
      case .tooSlow: throw .tooSlow(host)
      case .nowhere: throw .nowhere(host)
      case .refused(let reason): throw .refused(host, because: reason)
      }
    }
  }
}

/// What a host gave for an image's address. Whether it is an image is judged by whoever cleans it, from the bytes.
struct FetchedImage: Sendable, Equatable {
  let bytes: [UInt8]
  let freshness: Freshness
}

/// A line of fetches that wait for their turn, first come, first served; used inside one actor.
final class FetchLine {
  private var free: Int
  private var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []

  /// - Parameter capacity: How many may be at work at once.
  init(capacity: Int) {
    free = capacity
  }

  /// Takes a turn, or waits for it; false when the task was cancelled before it came.
  func enter(_ number: UInt64) async -> Bool {
    await withCheckedContinuation { continuation in
      if Task.isCancelled {
        continuation.resume(returning: false)
      } else if free > 0 {
        free -= 1
        continuation.resume(returning: true)
      } else {
        waiting.append((number, continuation))
      }
    }
  }

  /// Gives the turn to the next in line.
  func leave() {
    guard !waiting.isEmpty else {
      free += 1
      return
    }
    waiting.removeFirst().continuation.resume(returning: true)
  }

  /// Sends one away that waits; nothing happens when it does not wait (any more).
  func remove(_ number: UInt64) {
    guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
    waiting.remove(at: index).continuation.resume(returning: false)
  }
}
