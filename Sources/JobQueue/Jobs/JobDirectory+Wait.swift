public import AnalysisCore
import EventLoop
import PostgreSQL

extension JobDirectory {
  /// How long to wait between two looks: from 50 ms, half as long again each time, up to 1 s.
  public struct WaitSchedule: Sendable {
    private var following: Duration = .milliseconds(50)

    /// A schedule at its beginning.
    public init() {}

    /// The next pause.
    public mutating func next() -> Duration {
      defer { following = min(following * 3 / 2, .seconds(1)) }
      return following
    }

    /// Something happened: look sooner again.
    public mutating func reset() {
      following = .milliseconds(50)
    }
  }

  /// Waits until jobs are finished: analysed, dead or cancelled. It ends early when the task is cancelled.
  ///
  /// - Parameter finished: called with each job as it is seen to have ended.
  /// - Returns: how each job ended.
  /// - Throws: `notFound` for jobs that are unknown; `cancelled` when the task is.
  public func wait(
    for jobs: [JobID], finished: (JobID, JobState) -> Void = { _, _ in }
  ) async throws(JobQueueError) -> [JobID: JobState] {
    var ended: [JobID: JobState] = [:]
    var schedule = WaitSchedule()
    var places = try await shards.places(of: jobs)
    if let missing = jobs.first(where: { places[$0] == nil }) {
      throw JobQueueError(.notFound, "There is no job \(missing).")
    }
    var looks = 0
    while true {
      for (place, jobs) in Self.grouped(places) {
        for (job, state) in try await finishedStates(jobs, at: place) where ended[job] == nil {
          ended[job] = state
          places[job] = nil
          schedule.reset()
          finished(job, state)
        }
      }
      if places.isEmpty { return ended }
      looks += 1
      // A dead job that somebody retries moves to another month.
      if looks % 30 == 0 { places.merge(try await shards.places(of: Array(places.keys))) { $1 } }
      do {
        try await database.loop.sleep(for: schedule.next())
      } catch {
        throw JobQueueError(error, while: "waiting for jobs")
      }
    }
  }

  private func finishedStates(
    _ jobs: [JobID], at place: JobPlace
  ) async throws(JobQueueError) -> [(JobID, JobState)] {
    try await Statement(
      QueueSQL.text("queue/job_finished.sql"),
      [.int16(place.shard), .int16(place.period.label), .array(jobs.map(\.value))],
      while: "waiting for jobs"
    ) { rows in
      try rows.map { (try $0.jobID(0), try $0.named(1, JobState.self)) }
    }.run(on: database)
  }
}
