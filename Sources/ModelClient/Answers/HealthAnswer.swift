public import HTTPTransfer

/// What the backend's health answer tells besides that it is up.
public struct HealthAnswer: Sendable, Equatable {
  /// When what happened.
  public var timing: Timing
  /// By how many seconds this machine's clock is ahead of the backend's; nil when the answer has no date. A
  /// date has whole seconds.
  public var clockAhead: Double?
  /// When the backend's certificate ends, in seconds since 1970; nil without TLS, and where the transfer is
  /// not configured to read certificates.
  public var certificateEnds: Double?
}
