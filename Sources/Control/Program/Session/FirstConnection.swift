import EventLoop
import PostgreSQL
import Queue
import Support
import Synchronization

/// The first connection of a command: while the database cannot be reached, as when a standby takes over, it is tried
/// again for some time. What waiting does not cure, such as a wrong password, ends the command at once.
struct FirstConnection: Sendable {
  private let loop: EventLoop
  private let patience: Duration
  private let say: @Sendable (String) -> Void

  /// When a person begins to wonder.
  private static let silence = Duration.seconds(1)

  /// - Parameters:
  ///   - patience: How long a failed attempt is followed by another; zero for one attempt.
  ///   - say: Says what is waited for.
  init(on loop: EventLoop, patience: Duration, say: @escaping @Sendable (String) -> Void) {
    self.loop = loop
    self.patience = patience
    self.say = say
  }

  /// Connects and asks what has to be asked first.
  ///
  /// - Throws: The error of the last attempt.
  func made(_ connect: () async throws -> Void) async throws {
    let end = EventLoop.now + patience
    let reason = Mutex("")
    let wonder = Task { [loop, say, patience] in
      try await loop.sleep(for: Self.silence)
      if patience > .zero { say("Waiting for the database, for up to \(patience).\(reason.withLock { $0 })") }
    }
    defer { wonder.cancel() }
    var retries = RetryPauses(Backoff(base: .milliseconds(100), cap: .seconds(1)))
    while true {
      do {
        return try await connect()
      } catch {
        let pause = retries.next()
        guard let cause = Self.passing(error), EventLoop.now + pause < end else { throw error }
        reason.withLock { $0 = " \(cause.message)" }
        try await loop.sleep(for: pause)
      }
    }
  }

  /// Why there is no connection, if there may be one without anybody's doing.
  private static func passing(_ error: any Error) -> PostgreSQLError? {
    let cause = error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
    return cause.flatMap { $0.isConnectionLoss && $0.isTransient ? $0 : nil }
  }
}
