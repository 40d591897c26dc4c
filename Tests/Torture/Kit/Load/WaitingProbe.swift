import Control
import EventLoop
import Foundation
import PostgreSQL
import Queue
import Support
import TestSupport

/// A user who never has more than a part of the limit waiting: submits, cancels all of it, and submits again when
/// nothing of theirs is open. They may never be told that too much of theirs waits.
struct WaitingProbe: Sendable {
  let rig: Rig
  let history: History
  let pace: Pace

  static let user = "probe-waiting"
  /// Four rounds reach the limit, if what was cancelled is counted.
  private static let jobs = RunSettings.waitingLimit / 4

  func run() async {
    var generator = SeededGenerator(seed: rig.settings.seed &* 47)
    var round = 0
    while await pace.mayGoOn() {
      for _ in 0..<6 {
        round += 1
        do {
          try await turn(round, isLater: Int.random(in: 0..<4, using: &generator) == 0)
        } catch {
          rig.tally.note("the probe's round \(round) failed: \(error)")
          try? await Task.sleep(for: .milliseconds(500))
        }
      }
      try? await Task.sleep(for: .seconds(5))
    }
  }

  /// One round.
  func turn(_ round: Int, isLater: Bool) async throws {
    let hadNothing = try await hasNothing()
    let load = MassLoad(rig: rig, history: history, number: 900_000 + round)
    let outcomes = try await load.submit(
      (0..<Self.jobs).map { place in
        var submission = load.submission(of: Self.user, .bulk, place)
        if isLater { submission.runAt = Date().timeIntervalSince1970 + 4 }
        return submission
      })
    if hadNothing { rig.tally.probe(refused: outcomes.count { $0 == .refused("waiting_limit") }) }
    let made = outcomes.compactMap { if case .created(let job) = $0 { job } else { nil } }
    _ = try await JobDirectory(rig.owner).change(made, .cancel)
  }

  /// Whether every job of the user's has ended.
  private func hasNothing() async throws -> Bool {
    try await rig.owner.query(
      """
      SELECT NOT EXISTS (
        SELECT FROM analysis.account a JOIN analysis.job j ON j.shard = a.shard AND j.user_id = a.user_id
        WHERE a.user_ref = $1 AND NOT j.closed
          AND NOT EXISTS (SELECT FROM analysis.dead d WHERE d.shard = j.shard AND d.job_id = j.id)
          AND NOT EXISTS (
            SELECT FROM analysis.result r WHERE r.shard = j.shard AND r.period = j.period AND r.job_id = j.id))
      """, [.text(Self.user)], deadline: .seconds(10)
    ).single().bool(0)
  }
}
