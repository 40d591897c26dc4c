import BenchmarkKit
import PostgreSQL

/// Every page of the dashboard and every list of the command line in a large database, beside an empty one; and what
/// open dashboards cost the server.
struct PagesRow: BenchmarkRow {
  let name = "pages"
  let sentence =
    "every page of the dashboard, by the 95th percentile, and every list of the command line, with ten million "
    + "finished analyses and a million waiting, an empty database beside it; and dashboards that stay open"
  let headline = Headline.figure("p95_ms", unit: "ms")
  let keepsStatements = true

  private let stage = Held<(large: StagedQueue, empty: StagedQueue, endpoint: EndpointProcess)>()

  private static let finished = 10_000_000
  private static let quickFinished = 3000
  private static let months = 4

  /// The large database: a tenth as many jobs wait as are finished, some are scheduled, one in 500 is dead.
  private static func shape(_ finished: Int) -> PlantedJobs.Shape {
    let scheduled = max(finished / 1000, 10)
    return PlantedJobs.Shape(
      jobs: finished + finished / 10 + scheduled, waiting: finished / 10, scheduled: scheduled,
      deadOneIn: 500, months: months)
  }

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let shape = Self.shape(bench.givenSize(Self.finished, quick: Self.quickFinished))
    bench.say("\(name): puts \(shape.waiting) jobs that wait and \(shape.begun) that ended into a database")
    let database = try await bench.cluster.freshDatabase(named: "pages")
    let records = try await PlantedRecords.plant(shape, in: database)
    let emptyDatabase = try await bench.cluster.freshDatabase(named: "pages_empty")
    try await bench.cluster.settle(database)
    try await bench.cluster.settle(emptyDatabase)
    try await StagedQueue.makeLogin(bench)

    let endpoint = try await EndpointProcess(bench.settings)
    let large: StagedQueue
    let empty: StagedQueue
    do {
      large = try await StagedQueue(
        bench, database, endpoint: endpoint, waiting: shape.waiting, clinic: PlantedRecords.clinic)
      do {
        empty = try await StagedQueue(bench, emptyDatabase, endpoint: endpoint, waiting: 0, clinic: nil)
      } catch {
        await large.end()
        throw error
      }
    } catch {
      await endpoint.stop()
      throw error
    }
    stage.put((large, empty, endpoint))
    let pages = DashboardPages(records: records)
    return pages.all.map { page in
      Contender(page.name) { try await Self.load(page, $0, large, empty) }
    }
      + pages.commands.map { name, arguments in
        Contender("analysisctl \(name)") { try await Self.run(arguments, $0, large, empty) }
      }
      + Self.open.map { open in
        Contender(open.name) { try await open.measure($0, large.dashboard, login: StagedQueue.login) }
      }
  }

  func clean(_ bench: Bench) async {
    guard let (large, empty, endpoint) = stage.take() else { return }
    await large.end()
    await empty.end()
    await endpoint.stop()
  }

  private static let open = [
    OpenDashboard(name: "one browser stays open", pages: ["/"], browsers: 1),
    OpenDashboard(name: "20 browsers stay open", pages: ["/", "/workers"], browsers: 20),
    OpenDashboard(
      name: "20 browsers stay open at all pages",
      pages: ["/", "/workers", "/jobs", "/jobs?state=dead", "/failures", "/batches"], browsers: 20),
  ]

  // MARK: One run

  /// Loads a page again and again, by turns from the large and from the empty database. The dashboard has forgotten
  /// each time what it had read, but for what takes long, of which it shows what it read before: the totals of the
  /// overview, sums of clinics, and counts of large batches.
  private static func load(
    _ page: DashboardPages.Page, _ bench: Bench, _ large: StagedQueue, _ empty: StagedQueue
  ) async throws -> Sample {
    let rounds = bench.size(100, quick: 2)
    let times = try await onOwnThread {
      let browsers = (
        large: try large.dashboard(of: page).browser(), empty: try empty.dashboard(of: page).browser()
      )
      var times = Times()
      for _ in 0..<rounds {
        let path = page.path()
        try browsers.large.forget()
        let (time, bytes) = try browsers.large.load(path)
        times.large.append(time)
        times.bytes = max(times.bytes, bytes)
        guard page.isOfEmpty else { continue }
        try browsers.empty.forget()
        times.empty.append(try browsers.empty.load(path).milliseconds)
      }
      return times
    }
    return try times.sample
  }

  /// Runs a command again and again, by turns on the large and on the empty database.
  private static func run(
    _ arguments: @Sendable () -> [String], _ bench: Bench, _ large: StagedQueue, _ empty: StagedQueue
  ) async throws -> Sample {
    let program = try bench.settings.program("analysisctl")
    var times = Times()
    for _ in 0..<bench.size(20, quick: 1) {
      let words = arguments()
      for (queue, list) in [(large, \Times.large), (empty, \Times.empty)] {
        let begin = ContinuousClock.now
        // 7: a list that stopped before its page was full.
        _ = try await MeasuredProcess.run(
          program, words + ["--database", queue.conninfo], expecting: [0, 7])
        times[keyPath: list].append((ContinuousClock.now - begin) / .milliseconds(1))
      }
    }
    return try times.sample
  }

  /// The times of one run in milliseconds.
  private struct Times: Sendable {
    var large: [Double] = []
    var empty: [Double] = []
    /// Of the longest page; none of a command.
    var bytes = 0

    var sample: Sample {
      get throws {
        var figures = try Percentiles(large).figures
        if !empty.isEmpty {
          let percentiles = try Percentiles(empty)
          figures["empty_p50_ms"] = percentiles.value(at: 50)
          figures["empty_p95_ms"] = percentiles.value(at: 95)
        }
        if bytes > 0 { figures["kilobytes"] = Double(bytes) / 1000 }
        return Sample(
          amount: Double(large.count), seconds: large.reduce(0, +) / 1000, further: figures)
      }
    }
  }
}
