public import HTTPTransfer
internal import Support

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
public struct NetworkDependencies: Sendable {
  /// Looks names up.
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
  public init(
    resolver: NameResolver, certificateAuthorityFile: String? = nil, now: @escaping @Sendable () -> Double
  ) {
    self.resolver = resolver
    self.certificateAuthorityFile = certificateAuthorityFile
    self.now = now
  }

  /// The machine's own.
  public static let system = NetworkDependencies(
    resolver: .system,
    now: { UnixTime.now.secondsSince1970 })

  /// Finds out where a host is, and refuses what is not public.
  var lookup: HostLookup {
    HostLookup(resolver) { [exempt] address in
      exempt.contains(address) ? nil : AddressRules.refusal(of: address)
    }
  }
}
