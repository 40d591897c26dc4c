import EventLoop
import Foundation
import PostgreSQL
import Queue
import Support
import TestSupport

/// Erases persons while bulk submits of them and of others are under way, some of which wait for a transaction that a
/// back-end has open.
struct ErasureLoad: Sendable {
  let rig: Rig
  let history: History
  let pace: Pace

  /// The kind under which an erasure is counted.
  static let erased = "person-erased"

  func run() async {
    var generator = SeededGenerator(seed: rig.settings.seed &* 43)
    var round = 0
    while await pace.mayGoOn() {
      round += 1
      do {
        try await erase(
          round, beside: rig.users[Int.random(in: rig.users.indices, using: &generator)].reference,
          isHeld: Bool.random(using: &generator),
          after: .milliseconds(Int.random(in: 50...600, using: &generator)))
      } catch {
        rig.tally.note("nobody could be added to be erased: \(error)")
      }
      try? await Task.sleep(for: .milliseconds(700))
    }
  }

  /// Erases one person while their jobs and another user's are submitted together.
  ///
  /// - Parameter isHeld: Whether a transaction holds the other user's row, so that the bulk submits wait for it.
  private func erase(_ round: Int, beside other: String, isHeld: Bool, after delay: Duration) async throws {
    let person = try await rig.erased.newPerson(in: rig)
    await withTaskGroup(of: Void.self) { group in
      if isHeld { group.addTask { await hold(other, round) } }
      for turn in 0..<2 { group.addTask { await submit(person, other, round * 10 + turn) } }
      try? await Task.sleep(for: delay)
      do {
        try await rig.erased.erase(person, in: rig)
        rig.tally.cause(Self.erased)
      } catch {
        rig.tally.complain("person \(person.number) could not be erased: \(error)")
      }
    }
  }

  /// A few calls, one after the other, of the person's jobs and of the other user's.
  private func submit(_ person: ErasedPersons.Person, _ other: String, _ number: Int) async {
    let load = MassLoad(rig: rig, history: history, number: 100_000 + number)
    for call in 0..<2 {
      let jobs = (0..<12).map { place in
        load.submission(
          of: place.isMultiple(of: 2) ? other : person.reference, .normal, call * 12 + place)
      }
      do { try await load.submit(jobs) } catch { rig.tally.note("a bulk submit failed: \(error)") }
    }
  }

  /// A submit of one user that stays open for longer than an erasure takes.
  private func hold(_ user: String, _ round: Int) async {
    let pool = ConnectionPool(
      ConnectionConfiguration(
        rig.conninfo(0, role: Rig.backendRole), applicationName: "torture-holder", connectTimeout: .seconds(3)
      ),
      on: rig.loop, size: 1)
    let tag = "holder-\(round)"
    var outcome = SubmitRecord.Outcome.unknown
    do {
      outcome = try await pool.transaction(deadline: .seconds(15)) { transaction in
        let row = try await transaction.query(
          "SELECT outcome, reason, job_id FROM analysis.submit_image($1, 'throat', $2, $3)",
          [.text(user), .bytes(rig.pictures[0].original), .text(tag)]
        ).single()
        try? await Task.sleep(for: .milliseconds(900))
        return try SubmitRecord.Outcome(row)
      }
    } catch {
      rig.tally.note("a back-end's open submit failed: \(error)")
    }
    await pool.close()
    history.add([SubmitRecord(tag: tag, user: user, key: tag, outcome: outcome)])
  }
}
