import EventLoop
import Foundation
import PostgreSQL
import Support
import TestSupport

/// Submits as a back-end does: `analysis.submit_image` in a transaction of its own, now and then rolled back,
/// always with a key, by which its jobs are found again.
struct BackendLoad: Sendable {
  let rig: Rig
  let history: History
  let pace: Pace
  let number: Int

  /// Undoes a transaction on purpose.
  private struct ChangedMind: Error {}

  func run() async {
    let pool = ConnectionPool(
      ConnectionConfiguration(
        rig.conninfo(number, role: Rig.backendRole), applicationName: "torture-backend",
        connectTimeout: .seconds(3),
        defaultDeadline: .seconds(6)), on: rig.loop, size: 1)
    var generator = SeededGenerator(seed: rig.settings.seed &* 37 &+ UInt64(number))
    var made = 0
    var failures = 0
    while await pace.mayGoOn() {
      made += 1
      let tag = "b\(number)-\(made)"
      let user = rig.users[Int.random(in: rig.users.indices, using: &generator)].reference
      let picture = rig.pictures[Int.random(in: rig.pictures.indices, using: &generator)]
      let changesMind = Int.random(in: 0..<20, using: &generator) == 0
      var outcome = SubmitRecord.Outcome.unknown
      do {
        outcome = try await pool.transaction(deadline: .seconds(6)) { transaction in
          let row = try await transaction.query(
            "SELECT outcome, reason, job_id FROM analysis.submit_image($1, $2, $3, $4)",
            [
              .text(user), .text(made.isMultiple(of: 2) ? "ear" : "throat"), .bytes(picture.original),
              .text(tag),
            ]
          ).single()
          if changesMind { throw ChangedMind() }
          return try SubmitRecord.Outcome(row)
        }
        failures = 0
      } catch is ChangedMind {
        outcome = .refused("rolled back")
      } catch {
        rig.tally.note("a back-end's submit failed: \(error)")
        failures += 1
        await pace.pause(after: failures)
      }
      history.add([SubmitRecord(tag: tag, user: user, key: tag, outcome: outcome)])
      try? await Task.sleep(for: .milliseconds(25))
    }
    await pool.close()
  }
}

extension SubmitRecord.Outcome {
  /// Reads an answer of `analysis.submit_image`.
  init(_ row: Row) throws {
    switch try row.string(0) {
    case "created": self = .created(JobID(try row.int64(2)))
    case "duplicate": self = .duplicate(JobID(try row.int64(2)))
    default: self = .refused(try row.stringIfPresent(1) ?? "")
    }
  }
}
