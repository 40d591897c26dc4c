import QueueTestSupport
import Testing

@testable import Gateway

@Suite("What is left of a month stands in headers")
struct LimitHeaderTests {
  @Test("The share of the limit is the one that events and webhooks have")
  func level() async throws {
    try await withQueue { (queue) async throws in
      let levels = try await queue.texts(
        """
        SELECT concat_ws(' ', l, u, analysis.limit_level(u, l))
        FROM generate_series(0, 21) l, generate_series(0, 23) u ORDER BY l, u
        """)
      let ours = (0...21).flatMap { limit in
        (0...23).map { "\(limit) \($0) \(LimitHeaders.level(used: $0, limit: limit) ?? 0)" }
      }
      #expect(levels == ours)
    }
  }

  @Test("Without a limit there are none, and beyond it nothing is left")
  func headers() {
    #expect(LimitHeaders.of(used: 3, limit: nil).isEmpty)
    let over = LimitHeaders.of(used: 7, limit: 5).map { "\($0.name): \($0.value)" }
    #expect(
      over == ["X-Analysis-Limit: 5", "X-Analysis-Remaining: 0", "X-Analysis-Limit-Reached: 100"])
  }
}
