internal import HTTPTransfer

/// How a worker tells webhooks of ended jobs.
public struct WebhookSettings: Sendable {
  /// How often what is due is looked for.
  public var every: Duration = .seconds(1)
  /// How long a receiver has for its whole answer.
  public var deadline: Duration = .seconds(15)
  /// How many receivers are sent something at the same time.
  var receivers = 8
  /// How many events one receiver is sent at the same time.
  var atOnce = 4
  /// Whether receivers may be at addresses that are not public.
  public var allowsPrivateAddresses = false
  /// A file of certificate authorities (PEM) in place of the system's.
  var certificateAuthorityFile: String?
  /// Looks the receivers' names up.
  var resolver = NameResolver.system

  /// Every default.
  public init() {}

  /// How many connections to receivers there may be, those to slow ones among them.
  public var connections: Int { (receivers + max(receivers / 2, 1)) * atOnce }

  /// Finds out where a receiver is.
  var lookup: HostLookup {
    allowsPrivateAddresses ? HostLookup(resolver) { _ in nil } : HostLookup(resolver)
  }
}
