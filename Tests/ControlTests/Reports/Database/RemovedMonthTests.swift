import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control

@Suite("Months whose results have been removed")
struct RemovedMonthTests {
  private static let moment = "2021-12-31T00:00:00Z"

  @Test("Closed statements come out byte for byte as before, and the other reports say that results are gone")
  func reports() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.moment)
      let statement = try await queue.report(.usage, .csv, at: Self.moment)
      let whole = try await queue.report(.analyses, .json, at: Self.moment)
      #expect(!whole.contains("results_removed_since"))
      try await queue.execute(
        """
        DELETE FROM analysis.ready; DELETE FROM analysis.job;
        DELETE FROM analysis.dead WHERE period = 24249; DELETE FROM analysis.image;
        UPDATE analysis.setting SET value = '12 months' WHERE name = 'keep_results'
        """)
      #expect(
        try await queue.number(
          "SELECT o_rows::int FROM analysis.purge_month(24249::smallint, '\(Self.moment)', false, 0) WHERE o_gone"
        ) == 7)
      #expect(try await queue.report(.usage, .csv, at: Self.moment) == statement)
      for kind in [ReportKind.analyses, .conditions, .summary] {
        let collected = Collected()
        let outcome = try await queue.reporter(at: Self.moment).run(
          ReportRequest(kind, month: Written.october, format: .json), to: .stream { collected.add($0) })
        #expect(outcome.removedSince == 1_640_908_800)
        #expect(collected.text.contains(#""results_removed_since":"2021-12-31T00:00:00Z""#))
      }
      try await queue.close("2020-11", at: Self.moment)
      let later = try await queue.report(.usage, .csv, month: "2020-11", at: Self.moment)
      #expect(!later.contains("adjustment"))
    }
  }
}
