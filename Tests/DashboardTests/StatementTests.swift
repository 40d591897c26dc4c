import EventLoop
import HTTPServing
import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Dashboard

@Suite("What open dashboards cost the server", .onOwnThread)
struct StatementTests {
  @Test("Ten browsers have it run five statements at most in five seconds", .whereStatementsAreCounted)
  func statements() async throws {
    try await withServerCluster(.countingStatements) { cluster in
      try await withQueue(on: cluster) { (queue) async throws in
        _ = try await queue.pool.query("CREATE EXTENSION pg_stat_statements")
        let clock = MovedClock()
        try await withLogin(of: ["operator"], in: queue) { (login) async throws in
          try await withDashboard(login, clock: clock) { (served) async throws in
            func browse() throws {
              for _ in 0..<10 {
                for path in ["/", "/workers"] { #expect(try served.get(path).status == 200) }
              }
            }
            try browse()
            _ = try await queue.pool.query("SELECT pg_stat_statements_reset()")
            for second in 1...12 {
              clock.pass(.seconds(5))
              try browse()
              let count = try await calls(queue)
              #expect((second...5 * second).contains(count), "\(count) statements in \(5 * second) s")
            }
          }
        }
      }
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

  @Test("The queue is read for browsers that listen while there are any, and no longer")
  func listening() async throws {
    let steps = AsyncStream.makeStream(of: Void.self)
    let reads = Mutex(0)
    let feed = LiveFeed(
      atMost: 2, pause: { for await _ in steps.stream { return } }, refresh: { reads.withLock { $0 += 1 } })
    let server = try HTTPServer(
      ListenAddress(host: "127.0.0.1", port: 0), [HTTPRoute(.get, "/events") { _ in feed.answer() }],
      bounds: .patient, events: feed.events)
    for round in 1...2 {
      let browser = try RawClient(port: server.address.port)
      try browser.send("GET", "/events")
      try browser.expect("retry: 3000")
      steps.continuation.yield()
      try browser.expect("event: changed")
      #expect(reads.withLock { $0 } >= round)
      browser.close()
      try await eventually("nobody to listen") {
        steps.continuation.yield()
        return feed.events.listeners == 0
      }
    }
    await server.stop()
  }
}
