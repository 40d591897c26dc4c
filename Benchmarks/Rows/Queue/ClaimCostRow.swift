import BenchmarkKit
import PostgreSQL
import Synchronization

/// What claiming and completing 100 jobs costs, by how many wait and how many are done.
final class ClaimCostRow: BenchmarkRow {
  let name = "claim-cost"
  let sentence =
    "claim and complete 100 jobs, by how many more wait and how many are done: time, buffers, log and processors"
  let headline = Headline.figure("ms_per_100", unit: "ms")

  private let open = Mutex<[Connection]>([])

  func runs(_ settings: BenchmarkSettings) -> Int { settings.isQuick ? 1 : max(15, settings.runs) }

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let sizes: [(waiting: Int, finished: Int)] = [
      (10_000, 0), (0, 0), (100_000, 0), (1_000_000, 0), (1_000_000, 10_000_000),
    ]
    let quick: [(waiting: Int, finished: Int)] = [(100, 0), (0, 0), (1000, 1000)]
    var contenders: [Contender] = []
    for (number, size) in (bench.settings.isQuick ? quick : sizes).enumerated() {
      bench.say(
        "\(name): puts \(size.waiting) jobs that wait and \(size.finished) that are done into a database")
      let database = try await bench.cluster.freshDatabase(named: "claim_\(number)")
      _ = try await QueueFixture.make(in: database, pictures: PictureBytes.pictures(200, bytes: 64))
      try await QueueFixture.fill(database, jobs: size.finished, finished: true)
      try await QueueFixture.fill(database, jobs: size.waiting)
      try await bench.cluster.settle(database)
      let drain = try await QueueDrain.connected(
        to: database.conninfo, on: bench.loop, batch: 100, analyses: SampleAnalyses(isWhole: false))
      open.withLock { $0 += drain.connections }
      contenders.append(contender(size.waiting, size.finished, drain, database))
    }
    contenders.append(try await newcomers(bench))
    return contenders
  }

  /// The first jobs of as many users: all at one virtual time, in a database that was never analysed.
  private func newcomers(_ bench: Bench) async throws -> Contender {
    let waiting = bench.size(100_000, quick: 200)
    let database = try await bench.cluster.freshDatabase(named: "claim_newcomers")
    _ = try await QueueFixture.make(in: database, pictures: PictureBytes.pictures(200, bytes: 64))
    let drain = try await QueueDrain.connected(
      to: database.conninfo, on: bench.loop, batch: 100, analyses: SampleAnalyses(isWhole: false))
    open.withLock { $0 += drain.connections }
    @Sendable func fill(_ jobs: Int) async throws {
      try await QueueFixture.fill(database, jobs: jobs)
      _ = try await database.pool.query(
        "UPDATE analysis.ready SET vt = 0 WHERE vt > 0", deadline: .seconds(600))
    }
    try await fill(waiting)
    let name = FigureText.fixed(Double(waiting), places: 0)
    return Contender("\(name) newcomers at one virtual time, not analysed") { bench in
      let jobs = bench.size(10_000, quick: 200)
      try await fill(jobs)
      var sample = try await drain.sample(jobs: jobs, on: bench.cluster)
      sample.further["ms_per_100"] = sample.seconds * 100_000 / Double(jobs)
      return sample
    }
  }

  /// Puts in what a run takes out, so that as many wait after each run as before it.
  private func contender(
    _ waiting: Int, _ finished: Int, _ drain: QueueDrain, _ database: BenchmarkDatabase
  ) -> Contender {
    let done = finished > 0 ? ", \(FigureText.fixed(Double(finished), places: 0)) done" : ""
    return Contender("\(FigureText.fixed(Double(waiting), places: 0)) more wait\(done)") { bench in
      let jobs = bench.size(10_000, quick: 200)
      try await QueueFixture.fill(database, jobs: jobs)
      try await bench.cluster.settle(database, tables: ["analysis.ready", "analysis.lease"])
      var sample = try await drain.sample(jobs: jobs, on: bench.cluster)
      sample.further["ms_per_100"] = sample.seconds * 100_000 / Double(jobs)
      // Two cycles more are explained.
      try await QueueFixture.fill(database, jobs: 200)
      let cost = try await ExplainedCycle(database, marks: await drain.marks).cost()
      sample.further.merge(cost) { _, new in new }
      return sample
    }
  }

  func clean(_ bench: Bench) async {
    for connection in open.withLock({ $0 }) { await connection.close() }
    open.withLock { $0 = [] }
  }
}
