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
    try await retryDead(atMost: Self.mass)
  }

  /// Retries dead jobs, page by page.
  func retryDead(atMost limit: Int) async throws {
    let directory = JobDirectory(rig.owner)
    var dead: [JobID] = []
    var cursor: JobCursor?
    repeat {
      let page = try await directory.list(
        JobFilter(state: .dead), after: cursor, limit: min(500, limit - dead.count))
      dead += page.jobs.map(\.id)
      cursor = page.next
    } while cursor != nil && dead.count < limit
    _ = try await directory.retryDead(dead)
  }
}
