import BenchmarkKit
import Control
import PostgreSQL
import Queue
import Support

/// Pages of the list of jobs in a large month.
struct JobListRow: BenchmarkRow {
  let name = "job-list"
  let sentence =
    "a page of 50 of the list of jobs by each filter, in a month of five million jobs of 100,000 users, at random places"
  let headline = Headline.figure("p50_ms", unit: "ms")

  private static let jobs = 5_000_000
  private static let quickJobs = 5000

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let database = try await bench.cluster.freshDatabase(named: "job_list")
    let month = try await PlantedJobs.plant(
      .month(bench.givenSize(Self.jobs, quick: Self.quickJobs)), in: database.pool)
    try await bench.cluster.settle(database)
    let user = "user-17"
    let large = "user-0"
    let states = JobState.allCases.map { ("\($0.rawValue)", JobFilter(state: $0)) }
    let users = JobState.allCases.map { ("large user, \($0.rawValue)", JobFilter(user: large, state: $0)) }
    let filters: [(String, JobFilter)] =
      [
        ("all", JobFilter()), ("of a user", JobFilter(user: user)),
        ("of a large user", JobFilter(user: large)),
        ("of a user without jobs", JobFilter(user: "user-idle")), ("throat", JobFilter(kind: .throat)),
        ("ear, of which there are none", JobFilter(kind: .ear)),
        ("of a month without jobs", JobFilter(month: month.month.next)),
      ] + states + users
    return filters.map { name, filter in
      Contender(name) { try await Self.sample($0, database, month, filter) }
    }
  }

  private static func sample(
    _ bench: Bench, _ database: BenchmarkDatabase, _ month: PlantedJobs, _ filter: JobFilter
  ) async throws -> Sample {
    let directory = JobDirectory(database.pool)
    let pages = bench.size(200, quick: 5)
    var times: [Double] = []
    var shown = 0
    let (_, meter) = try await bench.cluster.metered {
      for number in 0..<pages {
        // Every fourth is the first page.
        let after =
          number % 4 == 0
          ? nil : JobCursor(period: month.month, job: JobID(.random(in: 1...Int64(month.jobs))))
        let begin = ContinuousClock.now
        let page = try await directory.list(filter, after: after, limit: 50)
        times.append((ContinuousClock.now - begin) / .milliseconds(1))
        shown += page.jobs.count
      }
    }
    var figures = try Percentiles(times).figures
    figures["rows"] = Double(shown) / Double(pages)
    return Sample(
      amount: Double(pages), seconds: meter.seconds, serverSeconds: meter.serverSeconds, further: figures)
  }
}
