import EventLoop
import Foundation
import Images
import PostgreSQL
import Queue
import Support
import Synchronization
import TestSupport

/// Submits by `JobQueue`, many jobs in a call: new ones with and without keys, repeats of keys, jobs for later,
/// urgent ones, some that expire.
struct SubmitterLoad: Sendable {
  let rig: Rig
  let history: History
  let pace: Pace
  let number: Int

  /// Submits until told to stop.
  func run() async {
    let pool = ConnectionPool(
      ConnectionConfiguration(
        rig.conninfo(number, role: Rig.backendRole), applicationName: "torture-submit",
        connectTimeout: .seconds(3),
        defaultDeadline: .seconds(6)), on: rig.loop, size: 2)
    let submitter = Submitter(
      pool, limits: SubmitLimits(maxAttempts: number == 0 ? 6 : 10, deadline: .seconds(6), repeats: 3))
    var draw = Draw(rig: rig, number: number)
    var failures = 0
    while await pace.mayGoOn() {
      let lease = draw.lease()
      let outcomes = Mutex<[Int: SubmitOutcome]>([:])
      do throws(JobQueueError) {
        _ = try await submitter.submit(lease.map(\.submission)) { place, outcome in
          outcomes.withLock { $0[place] = outcome }
        }
        failures = 0
      } catch {
        rig.tally.note("a submit of \(lease.count) failed: \(error)")
        failures += 1
        await pace.pause(after: failures)
      }
      let settled = outcomes.withLock { $0 }
      let records = lease.enumerated().map { place, item in
        SubmitRecord(
          tag: item.tag, user: item.submission.user, key: item.submission.key,
          outcome: settled[place].map(SubmitRecord.Outcome.init) ?? .unknown)
      }
      history.add(records)
    }
    await pool.close()
  }

  /// What is drawn by lot.
  private struct Draw {
    struct Item {
      let tag: String
      let submission: Submission
    }

    let rig: Rig
    let number: Int
    var generator: SeededGenerator
    var made = 0
    /// Keyed submissions that may be repeated.
    var keyed: [Submission] = []

    init(rig: Rig, number: Int) {
      self.rig = rig
      self.number = number
      generator = SeededGenerator(seed: rig.settings.seed &* 31 &+ UInt64(number))
    }

    mutating func lease() -> [Item] {
      (0..<Int.random(in: 1...50, using: &generator)).map { _ in item() }
    }

    private mutating func item() -> Item {
      made += 1
      let tag = "s\(number)-\(made)"
      var submission = chance(0.06) ? keyed.randomElement(using: &generator) ?? new() : new()
      if submission.key == nil, chance(0.4) { submission.key = "key-\(tag)" }
      submission.sourceName = tag
      if submission.key == "key-\(tag)" {
        if keyed.count == 400 { keyed.remove(at: Int.random(in: 0..<400, using: &generator)) }
        keyed.append(submission)
      } else if submission.key != nil, chance(0.1) {
        submission.kind = submission.kind == .ear ? .throat : .ear  // another content: refused
      }
      return Item(tag: tag, submission: submission)
    }

    private mutating func new() -> Submission {
      let image = rig.pictures[Int.random(in: rig.pictures.indices, using: &generator)].clean
      var submission = Submission(
        user: rig.users[Int.random(in: rig.users.indices, using: &generator)].reference,
        kind: chance(0.5) ? .throat : .ear, priority: chance(0.1) ? .urgent : chance(0.1) ? .bulk : .normal,
        image: .bytes(image.bytes, sha256: image.sha256, width: image.width, height: image.height))
      let now = Date().timeIntervalSince1970
      if chance(0.03) { submission.runAt = now + Double.random(in: 0.5..<8, using: &generator) }
      if chance(0.0005) { submission.runAt = now + 40 * 86_400 }
      if chance(0.005) { submission.expiresAt = now + (submission.runAt.map { $0 - now } ?? 0) + 2 }
      return submission
    }

    private mutating func chance(_ share: Double) -> Bool {
      Double.random(in: 0..<1, using: &generator) < share
    }
  }
}

extension SubmitRecord.Outcome {
  init(_ outcome: SubmitOutcome) {
    switch outcome {
    case .created(let job, _): self = .created(job)
    case .duplicate(let job): self = .duplicate(job)
    case .refused(let refusal): self = .refused(refusal.code)
    }
  }
}
