import Glibc

/// A signal that the programs of this package act on.
public enum Signal: Sendable, Hashable, CaseIterable {
  /// SIGTERM: stop in good order; a second one: stop at once.
  case terminate
  /// SIGINT, as Ctrl-C: the same.
  case interrupt
  /// SIGHUP: read the configuration again.
  case hangup
  /// SIGUSR1: write the counters to the log.
  case user1

  /// The system's number.
  public var number: Int32 {
    switch self {
    case .terminate: SIGTERM
    case .interrupt: SIGINT
    case .hangup: SIGHUP
    case .user1: SIGUSR1
    }
  }

  init?(number: Int32) {
    guard let signal = Signal.allCases.first(where: { $0.number == number }) else { return nil }
    self = signal
  }
}
