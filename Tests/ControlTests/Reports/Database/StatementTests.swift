import Foundation
import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Closing a month")
struct StatementTests {
  static let october = Written.period("2020-10")
  static let november = Written.period("2020-11")
  /// October ends last on earth at noon of 1 November in UTC; three days later it may be closed.
  static let due = "2020-11-04T12:00:00Z"
  static let aSecondBefore = "2020-11-04T11:59:59Z"
  static let novemberDue = "2020-12-04T12:00:00Z"

  @Test("the month is a draft until the grace after its end in the last zone on earth, then closed")
  func grace() async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      #expect(try await queue.close(at: Self.aSecondBefore) == false)
      #expect(try await outcome(queue, at: Self.aSecondBefore).state == .draft)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 0)
      #expect(try await queue.close(at: Self.due))
      #expect(try await outcome(queue, at: Self.due).state == .closed)
      #expect(try await queue.close(at: Self.novemberDue) == false)
      #expect(
        try await queue.texts("SELECT closed_at::text FROM analysis.statement") == [
          "2020-11-04 12:00:00+00"
        ])
    }
  }

  @Test(
    "a clinic's statement has each day of the month, and those after it on which something ended",
    arguments: [false, true])
  func days(closed: Bool) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.execute(
        "SELECT analysis.add_clinic('north'); SELECT analysis.assign_clinic(0::smallint, 'ana', 'north')")
      if closed { try await queue.close(at: Self.due) }
      let statement = try await Reporter(queue.pool).bill(
        BillRequest(.clinic("north"), month: Self.october, currency: nil))
      let october = (1...31).map { day in
        "2020-10-\(day < 10 ? "0" : "")\(day) \([2, 3].contains(day) ? 1 : 0)"
      }
      // Ana's clocks in Jakarta showed 1 November when the first of her jobs ended.
      #expect(statement.days.map { "\($0.date) \($0.analyses)" } == october + ["2020-11-01 1"])
    }
  }

  @Test("the grace is the installation's setting")
  func graceSetting() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.execute(
        "UPDATE analysis.setting SET value = '1 hour' WHERE name = 'statement_grace'")
      #expect(try await queue.close(at: "2020-11-01T12:59:59Z") == false)
      #expect(try await queue.close(at: "2020-11-01T13:00:00Z"))
    }
  }

  @Test(
    "reading never closes, whatever the month's age: a draft each time, and no statement",
    arguments: ReportKind.allCases)
  func reading(kind: ReportKind) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      for moment in [Self.aSecondBefore, Self.due, Self.novemberDue, "2021-12-01T00:00:00Z"] {
        let outcome = try await outcome(queue, kind, at: moment)
        #expect(outcome.state == .draft)
        #expect(outcome.canBeClosed == (kind == .usage && moment != Self.aSecondBefore))
      }
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 0)
      try await queue.close(at: Self.novemberDue)
      let closed = try await outcome(queue, kind, at: Self.novemberDue)
      // What was said of analyses is as it is now, of closed months too.
      #expect(closed.state == (kind.isOfReviews ? .draft : .closed) && !closed.canBeClosed)
    }
  }

  @Test("a closing is recorded with the lines that it stated, in its own transaction")
  func recorded() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let entries = "SELECT concat_ws(' ', action, object, detail) FROM analysis.audit_draft"
      #expect(try await queue.close(at: Self.aSecondBefore) == false)
      #expect(try await queue.texts(entries) == [])
      struct Undone: Error {}
      await #expect(throws: (any Error).self) {
        try await queue.pool.transaction { transaction in
          _ = try await transaction.query(
            "SELECT analysis.close_usage(\(Int(Self.october.label))::smallint, '2020-11-05')")
          throw Undone()
        }
      }
      #expect(try await queue.texts(entries) == [])
      try await queue.close(at: Self.due)
      try await queue.close(at: Self.due)
      #expect(try await queue.texts(entries) == [#"close_month month:2020-10 {"lines": 4}"#])
    }
  }

  @Test("two closings in transactions that keep an old snapshot state no adjustment twice: they are refused")
  func oldSnapshot() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute(
        "UPDATE analysis.usage SET refused = refused + 1 WHERE period = \(Self.october.label)")
      func close(_ month: Int, on queryable: some Queryable) async throws {
        _ = try await queryable.query("SELECT analysis.close_usage(\(month)::smallint, '2021-06-01')")
      }
      let month = Int(Self.november.label)
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.pool.transaction(isolation: .repeatableRead) { old in
          _ = try await old.query("SELECT count(*) FROM analysis.statement")
          try await close(month, on: queue.pool)
          try await close(month + 1, on: old)
        }
      }
      #expect(error?.sqlState == "25001" && error?.hint?.contains("READ COMMITTED") == true)
      try await close(month + 1, on: queue.pool)
      let stated =
        "SELECT max(n)::int FROM (SELECT count(*) AS n FROM analysis.statement_line WHERE for_period <> period GROUP BY for_period, user_id) c"
      #expect(try await queue.number(stated) == 1)
    }
  }

  @Test("a closed month says the numbers that its last draft said", arguments: [nil, "Asia/Kathmandu"])
  func sameNumbers(zone: String?) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let draft = try await queue.report(.usage, .csv, zone: zone, at: Self.aSecondBefore)
      try await queue.close(at: Self.due)
      let closed = try await queue.report(.usage, .csv, zone: zone, at: Self.due)
      #expect(draft == closed)
    }
  }

  @Test(
    "whatever happens later, a closed month comes out byte for byte the same",
    arguments: ReportFormat.allCases)
  func byteForByte(format: ReportFormat) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      let closed = try await queue.report(.usage, format, at: Self.due)
      try await queue.execute(Self.laterChanges)
      try await queue.execute(
        """
        UPDATE analysis.plan SET display_name = 'Renamed';
        UPDATE analysis.account SET zone = 'Europe/Berlin';
        UPDATE analysis.setting SET value = '300 days' WHERE name = 'statement_grace';
        """)
      #expect(try await queue.report(.usage, format, at: "2021-03-01T00:00:00Z") == closed)
      try await queue.close("2020-11", at: "2020-01-01T00:00:00Z")
      #expect(try await queue.report(.usage, format, at: "2020-01-01T00:00:00Z") == closed)
    }
  }

  @Test("what changes after closing is adjusted once, in the next statement")
  func adjustments() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute(Self.laterChanges)
      try await queue.close("2020-11", at: Self.novemberDue)
      #expect(
        try await adjustments(in: "2020-11", queue) == [
          "2020-10 =1+1 used 2 over 1 refunded 0 refused 4",
          "2020-10 ana used -2 over -2 refunded 2 refused 0",
        ])
      try await queue.close("2020-12", at: "2021-01-04T12:00:00Z")
      #expect(try await adjustments(in: "2020-12", queue).isEmpty)
    }
  }

  @Test("a later change back is adjusted back, and statements and adjustments add up to what is used now")
  func adjustedTwice() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute(Self.laterChanges)
      try await queue.close("2020-11", at: Self.novemberDue)
      try await queue.execute("UPDATE analysis.usage SET used = 4 WHERE user_id = 1 AND period = 24249")
      try await queue.close("2020-12", at: "2021-01-04T12:00:00Z")
      #expect(
        try await adjustments(in: "2020-12", queue) == ["2020-10 ana used 2 over 2 refunded 0 refused 0"])
      let difference = """
        SELECT count(*)::int FROM (
          SELECT user_id, for_period, sum(used) AS used, sum(refunded) AS refunded, sum(refused) AS refused
          FROM analysis.statement_line GROUP BY 1, 2) s
        FULL JOIN analysis.usage u ON u.user_id = s.user_id AND u.period = s.for_period
        WHERE coalesce(s.used, 0) <> coalesce(u.used, 0) OR coalesce(s.refunded, 0) <> coalesce(u.refunded, 0)
          OR coalesce(s.refused, 0) <> coalesce(u.refused, 0)
        """
      // September was never stated, so its one row of usage is in no statement.
      #expect(try await queue.number(difference) == 1)
    }
  }

  @Test("the adjustment is a row of the CSV after the month's own, with the earlier month and no limit")
  func adjustmentRow() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute(
        """
        DELETE FROM analysis.refund; UPDATE analysis.usage SET used = 3, refunded = 3 WHERE user_id = 1 AND period = 24249
        """)
      try await queue.close("2020-11", at: Self.novemberDue)
      let text = try await queue.report(.usage, .csv, month: "2020-11", at: Self.novemberDue)
      let lines = text.components(separatedBy: "\r\n")
      #expect(lines.count == 8)  // a header, five users, one adjustment, and nothing after the last line end
      #expect(lines[6] == "ana,2020-10,adjustment,,,,-1,,-1,,,,,1,0,,2020-10-01T00:00:00+07:00,Asia/Jakarta")
      #expect(lines[1...5].allSatisfy { $0.contains(",2020-11,month,") })
    }
  }

  @Test("a job open at closing is billed; when it is analysed later, nothing is adjusted")
  func openAtClosing() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      let outcome = try await outcome(queue, at: Self.due)
      #expect(outcome.kind == .written)
      #expect(outcome.openJobs == 0)
      try await queue.execute(
        """
        INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at,
          analysis_id, conditions, condition_count)
        VALUES (0, 24249, 106, 1, 1, 1, 1, 1, '2020-11-20Z', 'a-106', '[]', 0)
        """)
      try await queue.close("2020-11", at: Self.novemberDue)
      #expect(try await adjustments(in: "2020-11", queue).isEmpty)
    }
  }

  @Test("a refund that has ended after closing changes nothing, since it was counted while it was pending")
  func pendingRefund() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute("SELECT analysis.apply_refunds(0::smallint, 100)")
      #expect(
        try await queue.number("SELECT used FROM analysis.usage WHERE user_id = 1 AND period = 24249") == 4
      )
      try await queue.close("2020-11", at: Self.novemberDue)
      #expect(try await adjustments(in: "2020-11", queue).isEmpty)
    }
  }

  @Test("a month closed after a later one does not adjust that one")
  func outOfOrder() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute(Self.laterChanges)
      try await queue.close("2020-09", at: Self.due)
      #expect(try await adjustments(in: "2020-09", queue).isEmpty)
      try await queue.close("2020-11", at: Self.novemberDue)
      #expect(try await adjustments(in: "2020-11", queue).count == 2)
    }
  }

  @Test(
    "a statement cannot be changed or removed",
    arguments: [
      "UPDATE analysis.statement SET closed_at = now()", "DELETE FROM analysis.statement",
      "TRUNCATE analysis.statement CASCADE", "UPDATE analysis.statement_line SET used = 0",
      "DELETE FROM analysis.statement_line", "TRUNCATE analysis.statement_line CASCADE",
      "UPDATE analysis.statement_segment SET amount = 0", "DELETE FROM analysis.statement_segment",
      "TRUNCATE analysis.statement_segment", "DELETE FROM analysis.statement_clinic",
      "UPDATE analysis.statement_day SET analyses = 0", "UPDATE analysis.statement_condition SET red = 0",
      "TRUNCATE analysis.statement_condition",
    ])
  func appendOnly(sql: String) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.close(at: Self.due)
      let error = await #expect(throws: PostgreSQLError.self) { try await queue.pool.query(sql) }
      #expect(error?.sqlState == "55000")
    }
  }

  @Test("two closings of different months at once do not state an adjustment twice")
  func twoMonthsAtOnce() async throws {
    try await withQueue(from: .plantedMonth, connections: 8) { queue in
      try await queue.close(at: Self.due)
      try await queue.execute(Self.laterChanges)
      try await withThrowingTaskGroup { group in
        for month in ["2020-11", "2020-12"] {
          group.addTask {
            _ = try await queue.close(month, at: "2021-02-01T00:00:00Z")
          }
        }
        try await group.waitForAll()
      }
      let stated = try await queue.number(
        """
        SELECT sum(used)::int FROM analysis.statement_line WHERE for_period = 24249 AND user_id = 1
        """)
      #expect(stated == 2)
    }
  }

  @Test("of twenty closings at once one writes the statement, and all read the same")
  func twentyAtOnce() async throws {
    try await withQueue(from: .plantedMonth, connections: 20) { queue in
      let texts = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<20 {
          group.addTask {
            try await queue.close(at: Self.due)
            return try await queue.report(.usage, .json, at: Self.due)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(texts.count == 20)
      #expect(Set(texts).count == 1)
      #expect(texts.first?.contains("\"closed\"") == true)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 1)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement_line") == 4)
    }
  }

  /// Ana gets a unit back and one of her refunds has ended; the hostile one had more than was stated.
  static let laterChanges = """
    DELETE FROM analysis.refund;
    UPDATE analysis.usage SET used = 2, refunded = 4 WHERE user_id = 1 AND period = 24249;
    UPDATE analysis.usage SET used = 3, refused = 4 WHERE user_id = 3 AND period = 24249;
    """

  private func outcome(
    _ queue: QueueFixture, _ kind: ReportKind = .usage, at moment: String
  ) async throws -> ReportOutcome {
    try await queue.reporter(at: moment).run(
      ReportRequest(kind, month: Self.october, format: .csv), to: .stream { _ in })
  }

  private func adjustments(in month: String, _ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      """
      SELECT analysis.period_text(for_period) || ' ' || user_ref || ' used ' || used || ' over ' || over
        || ' refunded ' || refunded || ' refused ' || refused
      FROM analysis.statement_line
      WHERE period = \(Written.period(month).label) AND for_period <> period ORDER BY line
      """)
  }
}
