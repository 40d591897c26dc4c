import BenchmarkKit
import EventLoop
import Glibc
import PostgreSQL
import Queue
import Support
import TestSupport

/// How soon a job that is submitted into an idle queue is with the model.
struct LatencyRow: BenchmarkRow {
  let name = "latency"
  let sentence =
    "from just before the submit until the request with the image has reached the endpoint, idle queue, a real worker"
  let headline = Headline.figure("p50_ms", unit: "ms")
  /// That of the peers, which measure themselves.
  private let endpoint = Held<ArrivalEndpoint>()

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let rounds = bench.givenSize(200, quick: 10)
    let endpoint = try ArrivalEndpoint()
    self.endpoint.put(endpoint)
    let small = 64
    let ours = [
      ("64 bytes a picture", small, true), ("64 bytes a picture, not vacuumed", small, false),
      ("120 kB a picture", QueueFixture.usualBytes, true),
    ].map { Self.contender($0.0, pictureBytes: $0.1, rounds: rounds, vacuums: $0.2) }
    let prepare = ["--image-bytes", "\(small)"]
    let options = ["--rounds", "\(rounds)", "--endpoint", endpoint.url]
    return ours + bench.peers("latency", prepare: prepare, options: options)
      + bench.peers("latency", "not vacuumed", prepare: prepare, options: options, vacuums: false)
  }

  func clean(_ bench: Bench) async { endpoint.take()?.stop() }

  private static func contender(
    _ name: String, pictureBytes: Int, rounds: Int, vacuums: Bool
  ) -> Contender {
    Contender(name) { bench in
      let template = try await bench.cluster.freshDatabase(named: "latency_run")
      let pictures = PictureBytes.pictures(QueueFixture.usualPictures, bytes: pictureBytes)
      let fixture = try await QueueFixture.make(in: template, pictures: pictures)
      try await bench.cluster.settle(template, vacuums: vacuums)
      let sample = try await Self.sample(bench, template, fixture, rounds: rounds)
      try await bench.cluster.drop(template)
      return sample
    }
  }

  private static func sample(
    _ bench: Bench, _ database: BenchmarkDatabase, _ fixture: QueueFixture, rounds: Int
  ) async throws -> Sample {
    let endpoint = try ArrivalEndpoint()
    defer { endpoint.stop() }
    let worker = try MeasuredProcess(
      bench.settings.program("analysis-worker"),
      ["--database", database.conninfo, "--endpoint", endpoint.url])
    defer { worker.send(SIGKILL) }
    try await wait(for: worker, database)
    let pool = ConnectionPool(ConnectionConfiguration(database.conninfo), on: bench.loop, size: 1)
    let submitter = Submitter(pool)
    var iterator = endpoint.arrivals.makeAsyncIterator()
    var times: [Double] = []
    // The first ones make connections and plans.
    let warmUp = bench.size(20, quick: 2)
    var before = (worker: 0.0, server: 0.0)
    // As `analysisctl` runs: on the loop of its connections.
    try await withTaskExecutorPreference(bench.loop) {
      for round in 0..<(rounds + warmUp) {
        if round == warmUp {
          // Claims of a connection's first seconds wait for the disk; those of a worker that has run for a while do not.
          try await Task.sleep(for: .seconds(bench.size(6, quick: 0)))
          before = (worker.usage.seconds, try bench.cluster.processorSeconds())
          times = []
        }
        let picture = fixture.pictures[round % fixture.pictures.count]
        let begin = ArrivalEndpoint.now
        let outcomes = try await submitter.submit([
          Submission(
            user: picture.user, kind: .throat, image: .known(sha256: picture.sha256), key: "round-\(round)")
        ])
        guard case .created = outcomes.first else { throw BenchmarkError("A submit gave \(outcomes).") }
        guard let arrival = await iterator.next(isolation: #isolation) else { break }
        times.append(Double(arrival - begin) / 1_000_000)
        // As long as between the peers' rounds (actions.py): the result is stored and the worker rests again.
        try await Task.sleep(for: .milliseconds(Int.random(in: 300...350)))
      }
    }
    await pool.close()
    let used = (worker.usage.seconds - before.worker, try bench.cluster.processorSeconds() - before.server)
    worker.send(SIGTERM)
    let ended = try await worker.succeeded()
    return Sample(
      amount: Double(times.count), seconds: times.reduce(0, +) / 1000, workerSeconds: used.0,
      serverSeconds: used.1, peakMemory: ended.usage.peakMemory, further: try Percentiles(times).figures)
  }

  /// Waits until the worker has told the database of itself and has had time to listen.
  private static func wait(for worker: MeasuredProcess, _ database: BenchmarkDatabase) async throws {
    let patience = ContinuousClock.now + .seconds(30)
    while try await database.number("SELECT count(*) FROM analysis.worker") == 0 {
      guard !worker.hasEnded, ContinuousClock.now < patience else {
        throw BenchmarkError("The worker did not start: \(worker.errorsSoFar.suffix(1000))")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    try await Task.sleep(for: .milliseconds(500))
  }
}
