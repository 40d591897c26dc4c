import Foundation
import PostgreSQL

/// Empties the queue when the faults have ended, by workers that are told to.
struct Drain {
  let rig: Rig
  let fleet: WorkerFleet

  /// What it came to.
  struct Outcome: Sendable {
    let time: Duration
    let finding: Finding
  }

  /// Runs workers until nothing is left that may run within the hour.
  ///
  /// The bound is the time of the last retry that is scheduled, and two minutes.
  func run() async throws -> Outcome {
    let row = try await rig.owner.query(
      """
      SELECT greatest(0, coalesce(max(extract(epoch FROM run_at - now())), 0))::float8 FROM analysis.scheduled
      WHERE run_at < now() + interval '1 hour'
      """, deadline: .seconds(30)
    ).single()
    let horizon = Duration.seconds(try row.double(0).rounded(.up) + 5)
    let bound = horizon + .seconds(120)
    rig.tally.note("drains; the last retry is due in \(horizon)")
    let begin = ContinuousClock.now
    var workers: [WorkerRun] = []
    for _ in 0..<rig.settings.workers {
      workers.append(
        try await fleet.start(
          "drain", options: ["--drain", "--drain-horizon", "\(Int(horizon / .seconds(1)))s"], told: [.drains])
      )
    }
    let isInTime = await withTaskGroup(of: Bool.self) { group in
      group.addTask { [workers] in
        for worker in workers { await fleet.ended(worker) }
        return true
      }
      group.addTask {
        do { try await Task.sleep(for: bound) } catch { return true }
        return false
      }
      let first = await group.next() ?? false
      if !first { for worker in workers { worker.kill() } }
      group.cancelAll()
      return first
    }
    return Outcome(
      time: .now - begin,
      finding: Finding(
        "I12 drain", "the queue is empty in bounded time",
        broken: isInTime ? [] : ["the workers were not done after \(Int(bound / .seconds(1))) s"]))
  }
}
