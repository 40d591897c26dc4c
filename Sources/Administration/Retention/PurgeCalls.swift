import EventLoop
import JobQueue
import PostgreSQL

/// How a purge asks the database: with rests, and in a dry run without the right to change anything.
struct PurgeCalls: Sendable {
  let database: ConnectionPool
  let settings: Purger.Settings
  let actor: AuditActor?
  let isStopped: @Sendable () -> Bool

  /// To look at a whole month takes a while.
  private static let deadline: Duration = .seconds(600)
  /// How long a stop may go unnoticed.
  private static let glance: Duration = .milliseconds(100)

  /// Makes a call, and rests afterwards for as long as the share wants it.
  func ask<Output>(_ statement: Statement<Output>) async throws(JobQueueError) -> Output {
    let start = EventLoop.now
    let output: Output
    if settings.isDry {
      do {
        output = try await database.transaction(readOnly: true, deadline: Self.deadline) { transaction in
          try await statement.run(on: transaction, deadline: Self.deadline)
        }
      } catch {
        throw JobQueueError(error, while: "looking for what is past its time")
      }
    } else {
      output = try await statement.run(on: database, as: actor, deadline: Self.deadline)
    }
    let share = min(1, max(0.01, settings.share))
    try await rest((EventLoop.now - start) * ((1 - share) / share))
    return output
  }

  /// Leaves the database alone for a while, unless it is to stop.
  func rest(_ pause: Duration) async throws(JobQueueError) {
    let end = EventLoop.now + pause
    while EventLoop.now < end, !isStopped() {
      do {
        try await database.loop.sleep(for: min(Self.glance, end - EventLoop.now))
      } catch {
        throw JobQueueError(error, while: "resting between two removals")
      }
    }
  }
}
