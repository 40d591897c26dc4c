import Formatting

/// What fetching takes from the machine round it.
public struct NetworkDependencies: Sendable {
  /// Looks names up.
  public var resolver: NameResolver
  /// A file of certificate authorities (PEM) in place of the system's.
  public var certificateAuthorityFile: String?
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

  /// Why an address is refused; nil when it is not.
  func refusal(of address: IPAddress) -> String? {
    exempt.contains(address) ? nil : AddressRules.refusal(of: address)
  }
}
