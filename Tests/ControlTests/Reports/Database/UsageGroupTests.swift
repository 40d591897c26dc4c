import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

/// October 2020, by the clocks of Jakarta (ana, of the north) and New York (bob, of no clinic). Ana has the plan `plus`
/// from the midnight of 15 October on. A unit is of the day on which it was taken:
///
/// | who | taken, by their clocks | type | what became of it |
/// |---|---|---|---|
/// | ana | 1 October 00:30 | throat | dead |
/// | ana | 14 October 23:59 | throat | analysed by two calls |
/// | ana | 15 October 00:00 | throat | open, after a call that failed |
/// | ana | 31 October 23:59 | throat | cancelled |
/// | bob | 30 September 23:30 | throat | open |
/// | bob | 1 October 00:30 | ear | analysed by one call |
/// | bob | 20 October | ear | dead after one call, and queued again on 2 November |
/// | bob | 31 October 23:59 | throat | open |
@Suite("Usage added up by day, clinic, plan and type")
struct UsageGroupTests {
  @Test(
    "each group has what was counted by hand: users, used, analysed, open, failed, cancelled, calls",
    arguments: [
      (
        UsageScope.Grouping.day,
        [
          "2020-10-01 2 1 1 0 1 0 1", "2020-10-14 1 1 1 0 0 0 2", "2020-10-15 1 1 0 1 0 0 1",
          "2020-10-20 0 0 0 0 0 0 1", "2020-10-31 2 1 0 1 0 1 0",
        ]
      ),
      (.clinic, ["north 1 2 1 1 1 1 3", "- 1 2 1 1 0 0 2"]),
      (.plan, ["basic 2 3 2 1 1 0 4", "plus 1 1 0 1 0 1 1"]),
      (.type, ["throat 2 3 1 2 1 1 3", "ear 1 1 1 0 0 0 2"]),
    ])
  func groups(by: UsageScope.Grouping, expected: [String]) async throws {
    try await with { billing in
      let sum = "- 2 4 2 2 1 1 5"
      #expect(try await rows(billing, by, "2020-10-01", "2020-10-31") == [sum] + expected)
      // The month itself counts the same, from its counters.
      let month = try await billing.queue.texts(
        """
        SELECT concat_ws(' ', '-', count(*) FILTER (WHERE used > 0), sum(used), sum(analysed), sum(used - analysed),
          sum(failed), sum(cancelled), sum(calls))
        FROM analysis.usage_report(24249::smallint, NULL, '2020-11-10Z')
        """)
      #expect(month == [sum])
    }
  }

  @Test("both days count, over the end of a month too; a clinic or a user alone; who moves keeps the month")
  func days() async throws {
    try await with { billing in
      #expect(
        try await rows(billing, .day, "2020-09-30", "2020-10-01") == [
          "- 2 2 1 1 1 0 1", "2020-09-30 1 1 0 1 0 0 0", "2020-10-01 2 1 1 0 1 0 1",
        ])
      #expect(try await rows(billing, .type, "2020-10-14", "2020-10-15")[0] == "- 1 2 1 1 0 0 3")
      let none = try await rows(billing, .type, "2020-10-14", "2020-10-14", user: "bob")
      #expect(none == ["- 0 0 0 0 0 0 0"])
      let north = try await rows(billing, .plan, "2020-10-01", "2020-10-31", clinic: "north")
      #expect(north[0] == "- 1 2 1 1 1 1 3")
      #expect(
        try await rows(billing, .type, "2020-01-01", "2020-12-31", user: "bob")
          == ["- 1 4 1 3 0 0 2", "throat 1 2 0 2 0 0 0", "ear 1 2 1 1 0 0 2"])
      // By the clocks of Pago Pago the first unit would be of September, the last of October.
      try await billing.queue.execute(
        "UPDATE analysis.account SET zone = 'Pacific/Pago_Pago' WHERE user_ref = 'ana'")
      let moved = try await rows(billing, .day, "2020-10-01", "2020-10-31")
      #expect(moved[0] == "- 2 4 2 2 1 1 5" && moved[1].hasPrefix("2020-10-01 2 1 1 0 1 0 1"))
    }
  }

  @Test("what cannot be added up is refused with the rule")
  func refused() async throws {
    try await with { billing in
      for (by, first, last, clinic, message) in [
        ("'week'", "'2020-10-01'", "'2020-10-01'", "NULL", "by day, clinic, plan or type"),
        ("'day'", "'2020-10-02'", "'2020-10-01'", "NULL", "1 to 366 days"),
        ("'day'", "'2020-01-01'", "'2021-01-02'", "NULL", "1 to 366 days"),
        ("'day'", "NULL", "'2020-10-01'", "NULL", "written as 20"),
        ("'day'", "'infinity'", "'2020-10-01'", "NULL", "written as 20"),
        ("'day'", "'2020-10-01'", "'2020-10-01'", "'south'", "no clinic is called south"),
      ] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await billing.queue.execute(
            "SELECT FROM analysis.usage_groups(\(by), \(first), \(last), \(clinic), NULL)")
        }
        #expect(error?.sqlState == "22023" && error?.message.contains(message) == true, "\(message)")
      }
    }
  }

  @Test("a table says who is in no group and ends with the sum; CSV and JSON have the groups alone")
  func views() async throws {
    try await with { billing in
      let clinics = UsageScope(groups: .init(by: .clinic, Written.october))
      let table = try await billing.queue.report(
        ReportRequest(.usage, month: Written.october, scope: clinics))
      #expect(
        table == """
          CLINIC            USERS  USED  ANALYSED  OPEN  FAILED  CANCELLED  CALLS
          north                 1     2         1     1       1          1      3
          without a clinic      1     2         1     1       0          0      2
          ----------------  -----  ----  --------  ----  ------  ---------  -----
          Total                 2     4         2     2       1          1      5

          usage by clinic of 2020-10, 2 rows, days in each user's zone

          """)
      let csv = try await billing.queue.report(
        ReportRequest(.usage, month: Written.october, format: .csv, scope: clinics))
      #expect(
        csv == "group,users,used,analysed,open,failed,cancelled,calls\r\nnorth,1,2,1,1,1,1,3\r\n"
          + ",1,2,1,1,0,0,2\r\n")
      let json = try await billing.queue.report(
        ReportRequest(
          .usage, month: Written.october, format: .json,
          scope: UsageScope(user: "ana", groups: .init(by: .type, Written.october))))
      #expect(
        json == """
          {"data":[
          {"group":"throat","users":1,"used":2,"analysed":1,"open":1,"failed":1,"cancelled":1,"calls":3}
          ],
          "meta":{"report":"usage","by":"type","from":"2020-10-01","to":"2020-10-31","zone":"billing","user":"ana",\
          "rows":1,"generated_at":"2020-11-02T03:04:05Z"}}

          """)
    }
  }

  @Test("it says since when jobs of one of its months have been removed, and closes and awaits nothing")
  func removed() async throws {
    try await with { billing in
      try await billing.close("2020-09")
      try await billing.queue.execute(
        "INSERT INTO analysis.purged_month (period, since) VALUES (24248, '2020-11-01Z')")
      let days = ["2020-09", "2020-10"].map { UsageScope.Groups(by: .day, Written.period($0)).days }
      let outcome = try await billing.queue.reporter(at: "2021-01-01T00:00:00Z").run(
        ReportRequest(
          .usage, month: Written.period("2020-09"), format: .json,
          scope: UsageScope(groups: .init(by: .day, days[0].lowerBound...days[1].upperBound))),
        to: .stream { _ in })
      #expect(outcome.removedSince == 1_604_188_800 && outcome.kind == .written && !outcome.canBeClosed)
    }
  }

  /// The rows as `group users used analysed open failed cancelled calls`.
  private func rows(
    _ billing: Billing, _ by: UsageScope.Grouping, _ first: String, _ last: String, clinic: String? = nil,
    user: String? = nil
  ) async throws -> [String] {
    try await billing.queue.pool.query(
      """
      SELECT concat_ws(' ', coalesce(o_group, '-'), o_users, o_used, o_analysed, o_open, o_failed, o_cancelled, o_calls)
      FROM analysis.usage_groups($1, $2, $3, $4, $5)
      """, [.text(by.rawValue), .text(first), .text(last), .text(clinic), .text(user)]
    ).map { try $0.string(0) }
  }

  private func with(_ body: (Billing) async throws -> Void) async throws {
    try await withBilling { billing in
      try await billing.add("ana", zone: "Asia/Jakarta")
      try await billing.add("bob", zone: "America/New_York")
      try await billing.setPlan("ana", "plus", from: "2020-10-14T17:00Z")
      try await billing.take(
        "ana",
        at: ["2020-09-30T17:30Z", "2020-10-14T16:59Z", "2020-10-14T17:00Z", "2020-10-31T16:59Z"])
      try await billing.take("bob", at: ["2020-10-01T03:30Z", "2020-10-01T04:30Z", "2020-11-01T03:59Z"])
      try await billing.failFirst(of: "ana", at: "2020-10-01T12:00Z")
      try await billing.queue.execute(Self.outcomes)
      try await body(billing)
    }
  }

  private static let outcomes = """
    UPDATE analysis.account SET clinic_id = NULL WHERE user_ref = 'bob';
    UPDATE analysis.job SET kind = 2, lane = 9 WHERE created_at = '2020-10-01T04:30Z';
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at,
      analysis_id, endpoint, version, call_ms, condition_count, conditions)
    SELECT 0, period, id, user_id, kind, 1, 1, CASE kind WHEN 1 THEN 2 ELSE 1 END, '2020-11-02Z', 'a', 'main', '1.0',
      50, 0, '[]'
    FROM analysis.job WHERE created_at IN ('2020-10-14T16:59Z', '2020-10-01T04:30Z');
    INSERT INTO analysis.attempt_error (shard, period, attempt, calls, job_id, user_id, worker_id, at,
      maybe_counted, consumed, class, message)
    SELECT 0, period, 1, 1, id, user_id, 1, '2020-10-16Z', false, true, 'server', 'failed'
    FROM analysis.job WHERE created_at = '2020-10-14T17:00Z';
    UPDATE analysis.job SET closed = true WHERE created_at = '2020-10-31T16:59Z';
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at)
    SELECT 0, period, id, user_id, kind, 2, 0, 0, '2020-10-31T17:30Z' FROM analysis.job WHERE closed;
    UPDATE analysis.usage u SET used = used - 1, refunded = refunded + 1 FROM analysis.account a
    WHERE a.user_ref = 'ana' AND (u.shard, u.user_id, u.period) = (a.shard, a.user_id, 24249);
    INSERT INTO analysis.usage (shard, user_id, period, used)
    SELECT shard, user_id, 24250, 1 FROM analysis.account WHERE user_ref = 'bob';
    INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, run_at, image_bytes,
      image_period, max_attempts, image_unsanitized, image_mark)
    SELECT 0, 24250, 2, 9, 900000, user_id, 1, 0, '2020-10-20T12:00Z', '2020-11-02T12:00Z', 1, 24249, 3, false, ''
    FROM analysis.account WHERE user_ref = 'bob';
    INSERT INTO analysis.attempt_error (shard, period, attempt, calls, job_id, user_id, worker_id, at,
      maybe_counted, consumed, class, message)
    SELECT 0, 24249, 1, 1, 900000, user_id, 1, '2020-10-20T12:00Z', false, true, 'permanent', 'refused'
    FROM analysis.account WHERE user_ref = 'bob';
    \(queueingPlantedJobs)
    """
}

@Suite("The table of usage")
struct UsageTableTests {
  @Test("adjustments are labelled, users who used nothing have no line unless asked for, and a sum ends it")
  func table() async throws {
    try await withBilling { billing in
      for user in ["ana", "bob", "eve"] { try await billing.add(user, zone: "UTC") }
      try await billing.take("ana", at: ["2020-09-10T12:00Z", "2020-09-11T12:00Z"])
      try await billing.close("2020-09")
      try await billing.failFirst(of: "ana", at: "2020-10-05Z")
      try await billing.take("ana", at: ["2020-10-10T12:00Z", "2020-10-11T12:00Z", "2020-10-12T12:00Z"])
      try await billing.take("bob", at: ["2020-10-10T12:00Z"])
      let draft = ["ana 2020-10 Basic 5 3 2", "bob 2020-10 Basic 5 1 4", "Total 4 0 0 4 0"]
      #expect(try await lines(billing) == draft)
      try await billing.close("2020-10")
      let closed = draft.dropLast() + ["ana 2020-09 adjustment -1 0 1", "Total 3 0 0 4 0"]
      #expect(try await lines(billing) == Array(closed))
      #expect(try await lines(billing, UsageScope(user: "ana")) == [draft[0], closed[2], "Total 2 0 0 3 0"])
      #expect(try await lines(billing, UsageScope(hasIdleUsers: true)).contains("eve 2020-10 Basic 5 0 5"))
      let eve = try await lines(billing, UsageScope(user: "eve"))
      #expect(eve == ["eve 2020-10 Basic 5 0 5", "Total 0 0 0 0 0"])
      #expect(try await lines(billing, UsageScope(clinic: "north")) == Array(closed))
      let csv = try await billing.queue.report(.usage, .csv)
      #expect(csv.contains("\r\neve,2020-10,month,") && csv.contains("\r\nana,2020-09,adjustment,"))
      #expect(!csv.contains("Total"))
      await #expect(throws: ReportsError.self) { try await lines(billing, UsageScope(clinic: "south")) }
    }
  }

  /// The first six words of each line between the heads and the caption.
  private func lines(_ billing: Billing, _ scope: UsageScope = UsageScope()) async throws -> [String] {
    let table = try await billing.queue.report(ReportRequest(.usage, month: Written.october, scope: scope))
    return table.split(separator: "\n").dropFirst().dropLast().map {
      $0.split(separator: " ").prefix(6).joined(separator: " ")
    }.filter { !$0.hasPrefix("-") }
  }
}
