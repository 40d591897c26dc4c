import BenchmarkKit

/// What images in an object store spare the server: jobs with an image each, in the database and there, by turns.
struct ImageStoreRow: BenchmarkRow {
  let name = "image-store"
  let sentence =
    "log and processors of the server for a job from its submit, as analysisctl makes it, with an encrypted picture of 120 KB of its own to its result, in the database and in an object store, 64 in flight"
  let headline = Headline.figure("server_for_work_us", unit: "us/job")
  private let made = Held<[SubmittedJobs]>()

  private static let inFlight = 64
  /// Half a core: then it is the worker that is at its limit, though the rest has to share the machine with it.
  private static let workerShare = 0.5

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let keys = try PictureKeys()
    // So many that what a worker costs the server at its start is little of a job.
    let jobs = bench.givenSize(12_000, quick: 400)
    let database = try await SubmittedJobs(bench, named: "images_here", jobs: jobs, keys: keys)
    made.put([database])
    let store = try await SubmittedJobs(
      bench, named: "images_elsewhere", jobs: jobs, keys: keys, isStoreElsewhere: true)
    made.put([database, store])
    let places = [("database", database), ("object store", store)]
    let contenders = places.map { place, jobs in
      Contender("in the \(place)") { bench in try await jobs.run(bench, inFlight: Self.inFlight) }
    }
    guard ProcessorBudget.isAvailable else { return contenders }
    return contenders
      + places.map { place, jobs in
        Contender("in the \(place), half a core for the worker") { bench in
          try await jobs.run(bench, inFlight: Self.inFlight, workerShare: Self.workerShare)
        }
      }
  }

  func clean(_ bench: Bench) async {
    for jobs in made.take() ?? [] { await jobs.end() }
  }
}
