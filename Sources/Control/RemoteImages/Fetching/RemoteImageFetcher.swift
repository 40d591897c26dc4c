internal import EventLoop
import HTTPTransfer
internal import Support

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
  /// Those that wait for their turn.
  private let line: TurnGate<RemoteImageError>
  private var nextNumber: UInt64 = 0

  /// A fetcher that opens nothing before its first fetch. Close it before the loop is shut down.
  init(loop: EventLoop, limits: FetchLimits = FetchLimits(), network: NetworkDependencies = .system) {
    self.loop = loop
    self.limits = limits
    self.network = network
    line = TurnGate(capacity: limits.atOnce)
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
    let refusal = await withTaskCancellationHandler {
      await line.enter(number) { Task.isCancelled ? .cancelled : nil }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.line.remove(number, .cancelled) } }
    }
    if let refusal { throw refusal }
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

/// What a fetch may take.
struct FetchLimits: Sendable, Equatable {
  /// The most bytes of an image: as many as a submitted file may have.
  var bytes: Int
  /// How long looking the name up may take, and then connecting with TLS.
  var connect: Duration
  /// How long all of a fetch may take, from its turn on.
  var whole: Duration
  /// How many are fetched at once; the others wait for their turn.
  var atOnce: Int

  /// Limits; every value left out is the default.
  init(
    bytes: Int = ImageSize.maximum, connect: Duration = .seconds(5), whole: Duration = .seconds(30),
    atOnce: Int = 8
  ) {
    self.bytes = bytes
    self.connect = connect
    self.whole = whole
    self.atOnce = max(1, atOnce)
  }
}

/// What fetching takes from the machine round it.
struct NetworkDependencies: Sendable {
  var resolver: NameResolver
  /// A file of certificate authorities (PEM) in place of the system's.
  var certificateAuthorityFile: String?
  /// Seconds since 1970, for how long an image is kept.
  public var now: @Sendable () -> Double

  /// Addresses that are allowed although they are not public. For tests, whose servers are on the loopback; no
  /// option and no file of ours sets it.
  var exempt: Set<IPAddress> = []
  /// Whether addresses may be http. For tests likewise.
  var allowsPlainHTTP = false

  /// Dependencies of the caller's own.
  init(
    resolver: NameResolver, certificateAuthorityFile: String? = nil, now: @escaping @Sendable () -> Double
  ) {
    self.resolver = resolver
    self.certificateAuthorityFile = certificateAuthorityFile
    self.now = now
  }

  static let system = NetworkDependencies(
    resolver: .system,
    now: { UnixTime.now.secondsSince1970 })

  /// Finds out where a host is, and refuses what is not public.
  var lookup: HostLookup {
    HostLookup(resolver) { [exempt] address in
      exempt.contains(address) ? nil : AddressRules.refusal(of: address)
    }
  }
}

/// For how long an answer may be kept, by what it says itself.
enum Freshness: Sendable, Equatable {
  /// It says nothing: as long as everything.
  case usual
  /// Some seconds at most.
  case atMost(Double)
  case never

  /// Reads `Cache-Control` and `Age` (RFC 9111). What is written for shared caches does not concern this one.
  init(_ headers: Headers) {
    var limit: Double?
    let directives = headers.all("Cache-Control").flatMap { $0.split(separator: ",") }
    for directive in directives {
      let parts = directive.split(separator: "=", maxSplits: 1).map { Self.trimmed($0).lowercased() }
      switch parts.first {
      // Asking the host each time whether it still holds would be no use of a cache here.
      case "no-store", "no-cache":
        self = .never
        return
      case "max-age":
        // What is no number is taken for the shortest time, as the standard advises.
        let seconds = parts.count == 2 ? Self.seconds(parts[1]) ?? 0 : 0
        limit = min(limit ?? seconds, seconds)
      default: break
      }
    }
    guard let limit else {
      self = .usual
      return
    }
    let rest = limit - (headers["Age"].flatMap(Self.seconds) ?? 0)
    self = rest > 0 ? .atMost(rest) : .never
  }

  /// Until when something is kept that came now; nil for not at all.
  func end(from now: Double, usual: Double) -> Double? {
    switch self {
    case .usual: usual > 0 ? now + usual : nil
    case .atMost(let seconds): usual > 0 ? now + min(seconds, usual) : nil
    case .never: nil
    }
  }

  private static func seconds(_ text: String) -> Double? {
    let digits = text.filter { $0 != "\"" }
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Double(digits)
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
