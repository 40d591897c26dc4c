import EventLoop
import Foundation
import Images
import PostgreSQL
import Queue
import Support
import Synchronization
import TestSupport

/// Submits very many jobs of a few users at once, and writes down what became of each.
struct MassLoad: Sendable {
  let rig: Rig
  let history: History
  /// What tells its jobs from another's.
  let number: Int

  /// Submits bulk jobs of throats for a later time.
  func submit(_ count: Int, runningIn delay: Duration) async throws {
    let runAt = Date().timeIntervalSince1970 + delay / .seconds(1)
    // Few enough of each user that the limit of those who wait does not refuse them all.
    let users = rig.users.prefix(max(4, count / (RunSettings.waitingLimit / 2)))
    _ = try await submit(
      (0..<count).map { place in
        var submission = submission(of: users[place % users.count].reference, .bulk, place)
        submission.runAt = runAt
        return submission
      })
  }

  /// A job of a throat.
  func submission(of user: String, _ priority: Priority, _ place: Int) -> Submission {
    let image = rig.pictures[place % rig.pictures.count].clean
    return Submission(
      user: user, kind: .throat, priority: priority,
      image: .bytes(image.bytes, sha256: image.sha256, width: image.width, height: image.height),
      sourceName: "mass-\(number)-\(priority)-\(place)")
  }

  /// Submits jobs whose source names are their tags, and gives the outcome of each.
  ///
  /// - Throws: When the database did not answer; what it did before is written down.
  @discardableResult
  func submit(_ submissions: [Submission]) async throws -> [SubmitRecord.Outcome] {
    let pool = ConnectionPool(
      ConnectionConfiguration(
        rig.conninfo(0, role: Rig.backendRole), applicationName: "torture-mass", connectTimeout: .seconds(3),
        defaultDeadline: .seconds(20)), on: rig.loop, size: 1)
    let submitter = Submitter(
      pool, limits: SubmitLimits(maximumCount: 100, deadline: .seconds(20), repeats: 3))
    let answers = Mutex<[Int: SubmitRecord.Outcome]>([:])
    let result: Result<Void, any Error>
    do {
      _ = try await submitter.submit(submissions) { place, outcome in
        answers.withLock { $0[place] = SubmitRecord.Outcome(outcome) }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await pool.close()
    let settled = answers.withLock { $0 }
    let outcomes = submissions.indices.map { settled[$0] ?? .unknown }
    history.add(
      zip(submissions, outcomes).map { submission, outcome in
        SubmitRecord(
          tag: submission.sourceName ?? "", user: submission.user, key: submission.key, outcome: outcome)
      })
    try result.get()
    return outcomes
  }
}
