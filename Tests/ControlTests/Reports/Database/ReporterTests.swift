import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("The reporter")
struct ReporterTests {
  @Test("a long report comes in several chunks, each of whole lines and valid by itself")
  func chunks() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.execute(
        """
        INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, created_at)
        SELECT 0, 1000 + i, 'ürsula-日本-' || i, 'UTC', decode(repeat('00', 32), 'hex'), '2020-08-01Z'
        FROM generate_series(1, 3000) i
        """)
      let collected = Collected()
      let outcome = try await queue.reporter(at: StatementTests.due).run(
        ReportRequest(.usage, month: Written.october, format: .csv), to: .stream { collected.add($0) })
      #expect(outcome.rows == 3004)
      #expect(collected.count > 1)
      for chunk in collected.chunks {
        #expect(chunk.suffix(2) == [0x0D, 0x0A])
        #expect(String(validating: chunk, as: UTF8.self) != nil)
      }
      let rows = try await Python.csvRows(collected.bytes, encoding: "utf-8")
      #expect(rows.count == 3005)
      let names = rows.dropFirst().map { Array($0[0].utf8) }
      #expect(names.dropFirst() == names.dropFirst().sorted { $0.lexicographicallyPrecedes($1) }[...])
    }
  }

  @Test("a report that takes longer than it is given is given up and says so")
  func timeout() async throws {
    try await withQueue(from: .plantedMonth, connections: 3) { queue in
      try await queue.pool.transaction { transaction in
        try await transaction.execute(script: "LOCK TABLE analysis.statement IN ACCESS EXCLUSIVE MODE")
        let reporter = Reporter(queue.pool, timeout: .milliseconds(200))
        let error = await #expect(throws: ReportsError.self) {
          try await reporter.run(ReportRequest(.usage, month: Written.october), to: .stream { _ in })
        }
        #expect(error?.code == .database)
        #expect(error?.description.contains("took longer than") == true)
      }
    }
  }

  @Test("a month with nothing in it is a report with a header only", arguments: ["2001-01", "2099-12"])
  func emptyMonth(month: String) async throws {
    try await withQueue { queue in
      let text = try await queue.report(.usage, .csv, month: month)
      #expect(
        text == UsageReport.columns.filter { $0.isShown(to: .programs) }.map(\.name).joined(separator: ",")
          + "\r\n")
      let conditions = try await queue.report(.conditions, .json, month: month)
      #expect(conditions.hasPrefix("{\"data\":[],\n"))
    }
  }

  @Test(
    "rows and totals agree: the summary adds up the usage report, draft and closed",
    arguments: ["draft", "closed"])
  func summaryAddsUp(state: String) async throws {
    let moment = state == "draft" ? StatementTests.aSecondBefore : StatementTests.due
    try await withQueue(from: .plantedMonth) { queue in
      if state == "closed" { try await queue.close(at: moment) }
      let usage = try await Python.csvRows(
        Array(try await queue.report(.usage, .csv, at: moment).utf8), encoding: "utf-8")
      if state == "closed" { try await queue.execute(StatementTests.laterChanges) }
      let summary = try await Python.csvRows(
        Array(try await queue.report(.summary, .csv, at: moment).utf8), encoding: "utf-8")
      let header = try #require(usage.first)
      for name in ["used", "over", "analysed", "open", "failed", "cancelled", "refunded", "refused", "calls"]
      {
        let column = try #require(header.firstIndex(of: name))
        let total = usage.dropFirst().reduce(0) { $0 + (Int($1[column]) ?? 0) }
        #expect(summary.contains([name, String(total)]), "\(name)")
      }
    }
  }
}
