import Control
import PostgreSQL
import Queue
import Support
import TestSupport

/// Jobs that are scheduled, cancelled and retried in masses.
extension Injector {
  private static let mass = 600

  func scheduleMass(_ event: FaultEvent) async throws {
    let load = MassLoad(rig: rig, history: history, number: event.number)
    do {
      try await load.submit(Self.mass, runningIn: event.lasting(.seconds(1), .seconds(6)))
    } catch {
      // What was taken before is written down; the same tags once more would be duplicates of our own making.
      throw Missed("not all were submitted: \(error)")
    }
  }

  func cancelMass() async throws {
    let jobs = history.latestJobs(Self.mass * 4).suffix(Self.mass)
    guard jobs.count > 100 else { throw Missed("too little was submitted yet") }
    let directory = JobDirectory(rig.owner)
    for start in stride(from: 0, to: jobs.count, by: 200) {
      _ = try await directory.change(Array(jobs.dropFirst(start).prefix(200)), .cancel)
    }
  }

  func retryMass() async throws {
    try await retryDead(atMost: Self.mass)
  }

  func retryDead(atMost limit: Int) async throws {
    let dead = try await rig.owner.query(
      "SELECT job_id FROM analysis.dead ORDER BY job_id LIMIT \(limit)", deadline: .seconds(10)
    ).map { JobID(try $0.int64(0)) }
    guard !dead.isEmpty else { throw Missed("no job is dead") }
    _ = try await JobDirectory(rig.owner).change(dead, .retry)
  }
}
