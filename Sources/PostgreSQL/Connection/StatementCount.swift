internal import Synchronization

/// How many statements are sent on behalf of a task, and how long they took: whoever wants to know sets `current`
/// around what is to be counted. What a connection asks for itself is in it, as in the server's own count.
public final class StatementCount: Sendable {
  /// Where the statements of the running task, and of the tasks that it starts, are counted; nil for nowhere.
  @TaskLocal public static var current: StatementCount?

  private struct State {
    var statements = 0
    var times: [Duration] = []
  }

  /// The clock by which times are taken.
  let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// A count that begins at zero.
  public init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.now = now
  }

  /// How many statements were sent.
  public var statements: Int { state.withLock { $0.statements } }

  /// How long each call took whose answer is there, from its turn on the connection to the end of its answer. A
  /// pipeline is one call.
  public var times: [Duration] { state.withLock { $0.times } }

  func sent() { state.withLock { $0.statements += 1 } }

  func ended(since began: ContinuousClock.Instant) {
    let time = now() - began
    state.withLock { $0.times.append(time) }
  }
}
