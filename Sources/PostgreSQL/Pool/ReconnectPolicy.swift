/// What a pool does when the server cannot be reached.
public struct ReconnectPolicy: Sendable {
  /// The wait after each failed attempt, counted from 1; nil gives up at the first.
  let delay: (@Sendable (_ attempt: Int) -> Duration)?

  /// The error goes to the caller at once: for commands that a person waits for.
  public static let failAtOnce = ReconnectPolicy(delay: nil)

  /// Attempts go on until the caller's deadline, with full jitter under a bound that doubles from 50 ms to
  /// 5 s, so that the workers of a restarted server do not come all at once. What waiting cannot cure (a
  /// wrong password, a missing database) is thrown at once.
  public static let retry = ReconnectPolicy.retry { attempt in
    let bound = min(5000, 50 << min(attempt - 1, 10))
    return .milliseconds(Int.random(in: 0...bound))
  }

  /// The same with waits of the caller's choice.
  public static func retry(_ delay: @escaping @Sendable (_ attempt: Int) -> Duration) -> ReconnectPolicy {
    ReconnectPolicy(delay: delay)
  }
}
