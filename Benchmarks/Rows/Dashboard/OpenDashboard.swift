import BenchmarkKit
import PostgreSQL

/// Dashboards that stay open: browsers that listen for events, and load their page again on each as the dashboard's
/// script does.
struct OpenDashboard: Sendable {
  let name: String
  /// The pages that are open, by turns.
  let pages: [String]
  let browsers: Int

  /// The time for which statements are counted at once.
  private static let window = Duration.seconds(5)

  /// Opens them, and counts the statements of their login for a minute.
  ///
  /// The headline is what a browser waits for its page. A minute has everything that is read seldom: the totals and the
  /// chart of the day.
  func measure(_ bench: Bench, _ dashboard: DashboardProcess, login: String) async throws -> Sample {
    let windows = bench.size(12, quick: 1)
    let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
    return try await withThrowingTaskGroup(of: [Double].self) { group in
      for number in 0..<browsers {
        let page = pages[number % pages.count]
        group.addTask {
          try await onOwnThread { try Self.browse(dashboard, page, events: windows, ready: isReady) }
        }
      }
      let costs = Task { try await Self.costs(bench, windows, of: login, after: ready, browsers: browsers) }
      defer { costs.cancel() }
      var times: [Double] = []
      do {
        for try await some in group { times += some }
      } catch {
        isReady.finish()
        throw error
      }
      let measured = try await costs.value
      var figures = try Percentiles(times).figures
      figures.merge(Self.figures(measured)) { $1 }
      return Sample(
        amount: Double(times.count), seconds: Double(windows) * (Self.window / .seconds(1)), further: figures)
    }
  }

  private static func browse(
    _ dashboard: DashboardProcess, _ page: String, events: Int, ready: AsyncStream<Void>.Continuation
  ) throws -> [Double] {
    let browser = try dashboard.browser()
    try browser.listen()
    _ = try browser.load(page)
    ready.yield()
    return try (0..<events).map { _ in
      try browser.awaitChange()
      return try browser.load(page, isUpdate: true).milliseconds
    }
  }

  // MARK: What the server counts

  private struct Cost {
    var statements: Double
    var milliseconds: Double
  }

  private static func costs(
    _ bench: Bench, _ windows: Int, of login: String, after ready: AsyncStream<Void>, browsers: Int
  ) async throws -> [Cost] {
    // What each browser loads first is not what an open one costs.
    for await _ in ready.prefix(browsers) {}
    var costs: [Cost] = []
    var before = try await cost(bench, login)
    guard before.statements > 0 else { throw BenchmarkError("The server keeps no account of \(login).") }
    let begin = ContinuousClock.now
    for number in 1...windows {
      try await Task.sleep(until: begin + window * number)
      let after = try await cost(bench, login)
      costs.append(
        Cost(
          statements: after.statements - before.statements,
          milliseconds: after.milliseconds - before.milliseconds))
      before = after
    }
    return costs
  }

  private static func cost(_ bench: Bench, _ login: String) async throws -> Cost {
    let row = try await bench.cluster.owner.query(
      """
      SELECT coalesce(sum(s.calls), 0)::float8, coalesce(sum(s.total_exec_time), 0)::float8
      FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = $1
      """, [.text(login)]
    ).single()
    return Cost(statements: try row.double(0), milliseconds: try row.double(1))
  }

  private static func figures(_ costs: [Cost]) -> [String: Double] {
    let statements = Summary(costs.map(\.statements))
    let milliseconds = Summary(costs.map(\.milliseconds))
    return [
      "statements": statements?.median ?? 0, "most_statements": statements?.maximum ?? 0,
      "server_ms": milliseconds?.median ?? 0, "most_server_ms": milliseconds?.maximum ?? 0,
    ]
  }
}
