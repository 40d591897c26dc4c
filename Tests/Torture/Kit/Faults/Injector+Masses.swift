import AnalysisCore
import JobQueue
import TestSupport

/// Jobs that are scheduled, cancelled and retried in masses.
extension Injector {
  private static let mass = 600

  func scheduleMass(_ event: FaultEvent) async throws {
    let load = MassLoad(rig: rig, history: history, number: event.number)
    try await load.submit(Self.mass, runningIn: event.lasting(.seconds(1), .seconds(6)))
  }

  func cancelMass() async throws {
    let jobs = history.latestJobs(Self.mass * 4).suffix(Self.mass)
    guard jobs.count > 100 else { throw Missed("too little was submitted yet") }
    let directory = JobDirectory(rig.owner)
    for start in stride(from: 0, to: jobs.count, by: 200) {
      _ = try await directory.cancel(Array(jobs.dropFirst(start).prefix(200)))
    }
  }

  func retryMass() async throws {
    _ = try await JobDirectory(rig.owner).retryDead(matching: JobFilter(state: .dead), limit: Self.mass)
  }
}
