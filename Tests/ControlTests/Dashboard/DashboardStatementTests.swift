import EventLoop
import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import HTTPServing

@Suite("What open dashboards cost the server", .onOwnThread)
struct DashboardStatementTests {
  /// Serves the dashboard of an operator's login on a server that counts its statements, as `serve` does.
  private func counted(_ body: (QueueFixture, Served, MovedClock) async throws -> Void) async throws {
    try await withServerCluster(.countingStatements) { cluster in
      try await withQueue(on: cluster) { (queue) async throws in
        _ = try await queue.pool.query("CREATE EXTENSION pg_stat_statements")
        try await queue.addUser("ann")
        _ = try await queue.deadJob("ann", image: "dead")
        _ = try await queue.submit(1, user: "ann")
        try await withLogin(of: ["operator"], in: queue) { (login) async throws in
          var configuration = login.configuration
          configuration.keepsStatements = false
          configuration.searchPath = ConnectionConfiguration.catalogOnly
          let pool = ConnectionPool(configuration, on: queue.loop, size: 2)
          let clock = MovedClock()
          try await withDashboard(pool, clock: clock) { try await body(queue, $0, clock) }
          await pool.close()
        }
      }
    }
  }

  @Test("Ten browsers have it run five statements at most in five seconds", .whereStatementsAreCounted)
  func statements() async throws {
    try await counted { (queue, served, clock) async throws in
      func browse() throws {
        for _ in 0..<10 {
          for path in ["/", "/workers"] { #expect(try served.get(path, ["X-Live": "1"]).status == 200) }
        }
      }
      for path in ["/", "/workers"] { #expect(try served.get(path).status == 200) }
      _ = try await queue.pool.query("SELECT pg_stat_statements_reset()")
      for second in 1...12 {
        clock.pass(.seconds(5))
        try browse()
        let count = try await calls(queue)
        #expect((second...5 * second).contains(count), "\(count) statements in \(5 * second) s")
      }
    }
  }

  @Test(
    "Browsers that have all pages open share the five statements, and each page is read in its turn",
    .whereStatementsAreCounted)
  func allPages() async throws {
    try await counted { (queue, served, clock) async throws in
      let waiting = try await queue.number("SELECT max(id) FROM analysis.job")
      let paths = [
        "/", "/workers", "/jobs", "/jobs?state=dead", "/failures", "/batches", "/jobs/\(waiting)",
      ]
      for path in paths { #expect(try served.get(path).status == 200, "\(path)") }
      clock.pass(.seconds(5))
      var ages: [String: Set<Int>] = [:]
      for round in 1...24 {
        _ = try await queue.pool.query("SELECT pg_stat_statements_reset()")
        // The jitter of browsers: they come in another order each time.
        for path in round % 2 == 0 ? paths : paths.reversed() {
          for browser in 0..<3 {
            // One of them has no scripts.
            let answer =
              browser == 0
              ? try served.get(path + (path.contains("?") ? "&" : "?") + "live=1")
              : try served.get(path, ["X-Live": "1"])
            #expect(answer.status == 200, "\(path): \(answer.text)")
            let age = answer.text.firstMatch(of: /As of ([0-9]+) s ago/).flatMap { Int($0.1) } ?? 0
            ages[path, default: []].insert(age)
          }
        }
        let count = try await calls(queue)
        #expect((1...5).contains(count), "\(count) statements in window \(round)")
        clock.pass(.seconds(5))
      }
      // A page is as new as an open page may be again and again, and none is left out.
      for path in paths {
        let found = ages[path] ?? []
        #expect(found.contains(0) && (found.max() ?? 0) <= 45, "\(path): \(found.sorted())")
      }
      #expect(ages.values.contains { $0.max() ?? 0 > 5 }, "some wait, and say so")
      // Who loads a page waits for nobody.
      for path in paths { #expect(!(try served.get(path).text.contains("As of")), "\(path)") }
    }
  }

  /// The statements of the dashboard's login.
  private func calls(_ queue: QueueFixture) async throws -> Int {
    try await queue.number(
      """
      SELECT coalesce(sum(s.calls), 0)::int FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
      WHERE s.toplevel AND r.rolname <> current_user
      """)
  }

  @Test("Browsers that listen are told to ask while there are any, and whoever comes later begins it anew")
  func listening() async throws {
    let steps = AsyncStream.makeStream(of: Void.self)
    let feed = LiveFeed(atMost: 2) { for await _ in steps.stream { return } }
    let server = try HTTPServer(
      ListenAddress(host: "127.0.0.1", port: 0), [HTTPRoute(.get, "/events") { _ in feed.answer() }],
      bounds: .patient, events: feed.events)
    for _ in 1...2 {
      let browser = try RawClient(port: server.address.port)
      try browser.send("GET", "/events")
      try browser.expect("retry: 3000")
      steps.continuation.yield()
      try browser.expect("event: changed")
      browser.close()
      try await eventually("nobody to listen") {
        steps.continuation.yield()
        return feed.events.listeners == 0
      }
    }
    await server.stop()
  }
}
