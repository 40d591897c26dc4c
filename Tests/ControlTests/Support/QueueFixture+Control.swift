import PostgreSQL
import QueueTestSupport
import TestSupport

@testable import Control
@testable import Queue
@testable import Support

extension QueueFixture {
  /// The program that works on it.
  var control: Control { Control(database: database.conninfo) }

  /// The same as the program of a role reaches it.
  func acting(as role: String) -> QueueFixture { reached(by: database.login(role).conninfo) }

  /// Gives a claimed job a result.
  func complete(_ job: ClaimedJob) async throws {
    let found = Confidence(0.7999).map {
      Condition(id: "tonsillitis", name: "Tonsillitis", confidence: $0, isPotentiallySerious: true)
    }
    let analysis = Analysis(id: "a-\(job.id)", kind: job.kind, conditions: [found].compactMap { $0 })
    _ = try await statements.complete([
      CompletedJob(
        lease: job.lease, job: job.id, analysis: analysis, calls: 1, callMilliseconds: 12, endpoint: "main")
    ]).run(on: pool)
  }

  /// Fails a claimed job for good.
  func kill(_ job: ClaimedJob) async throws {
    _ = try await statements.fail([
      FailedAttempt(
        lease: job.lease, job: job.id, decision: .dead, failureClass: .permanent,
        code: "INVALID_IMAGE_FORMAT",
        message: "the image was refused", errorID: nil, status: 400, calls: 1, maybeCounted: false,
        endpoint: "main")
    ]).run(on: pool)
  }
}
