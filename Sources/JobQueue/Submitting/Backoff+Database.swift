import System

extension Backoff {
  /// The pauses of whoever waits at a command for a database that is away: back within two seconds of it.
  static let database = Backoff(base: .milliseconds(50), cap: .seconds(2))
}
