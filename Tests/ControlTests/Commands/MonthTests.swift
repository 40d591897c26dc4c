import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("analysisctl month, against a server")
struct MonthTests {
  /// Two users, of whom one used three units of the fourth and two of the third month before the running one, with
  /// the names of these months.
  private func with(_ body: (QueueFixture, _ older: String, _ newer: String) async throws -> Void)
    async throws
  {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: "free")
      try await queue.addUser("u2", plan: "free")
      try await queue.execute(
        """
        UPDATE analysis.account SET created_at = created_at - interval '200 days';
        UPDATE analysis.account_plan SET valid_from = valid_from - interval '200 days';
        INSERT INTO analysis.usage (shard, user_id, period, used)
        SELECT a.shard, a.user_id, analysis.period_of(now(), 'UTC') - m, m - 1
        FROM analysis.account a, generate_series(3, 4) m WHERE a.user_ref = 'u1';
        SELECT analysis.ensure_partitions(u.period, u.period) FROM analysis.usage u;
        INSERT INTO analysis.job (shard, period, kind, lane, user_id, image_id, vt, created_at, image_bytes,
          image_period, max_attempts, image_unsanitized, image_mark)
        SELECT u.shard, u.period, 1, 5, u.user_id, 1, 0, analysis.period_start(u.period, 'UTC'), 1, u.period, 3, false, ''
        FROM analysis.usage u, generate_series(1, u.used);
        \(queueingPlantedJobs)
        """)
      let months = try await queue.texts(
        "SELECT analysis.period_text(period) FROM analysis.usage ORDER BY period")
      try await body(queue, months[0], months[1])
    }
  }

  private func statements(_ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      "SELECT analysis.period_text(period) FROM analysis.statement ORDER BY closed_at, period")
  }

  private func entries(_ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      """
      SELECT concat_ws(' ', action, object, os_user, reason, detail) FROM (
        SELECT at, action, object, os_user, reason, detail FROM analysis.audit
        UNION ALL SELECT at, action, object, os_user, reason, detail FROM analysis.audit_draft) e
      WHERE action = 'close_month' ORDER BY at
      """)
  }

  @Test("close says what would be stated and asks; no changes nothing, yes closes, and twice gives 5")
  func asked() async throws {
    try await with { (queue, older, _) async throws in
      var control = queue.control
      control.typed = "n"
      let declined = await control("month", "close", older)
      #expect(declined.code == .refused && declined.messages.contains("the answer was not yes"))
      #expect(
        declined.messages.hasPrefix(
          """
          This would be stated:
          MONTH    USERS  WITH USE  USED  OVER LIMIT  OPEN JOBS
          \(older)      2         1     3           0          3
          Open jobs are stated as used; one that gives its unit back later is adjusted in a later month.
          No closed month has changed since it was stated.
          A closed month is never changed. Close it? [y/N]
          """), "\(declined.messages)")
      #expect(try await statements(queue) == [])
      control.typed = "y"
      let closed = await control("month", "close", older, "--reason", "bills of the quarter")
      #expect(closed.code == .done && closed.output == "\(older) closed with 2 lines\n", "\(closed.output)")
      #expect(try await statements(queue) == [older])
      #expect(
        try await entries(queue) == [
          #"close_month month:\#(older) olga bills of the quarter {"lines": 2}"#
        ])
      let again = await control("month", "close", older)
      #expect(again.code == .nothingToDo && again.output.hasPrefix("\(older) is closed already, since 20"))
      #expect(again.output.hasSuffix(", with 2 lines\n"))
      #expect(try await entries(queue).count == 1)
    }
  }

  @Test("without a terminal it is refused before anything is asked of the database, unless --yes is given")
  func noTerminal() async throws {
    try await with { (queue, older, _) async throws in
      for words in [[older], ["--due"]] {
        let ran = await queue.control.run(["month", "close"] + words)
        #expect(ran.code == .usage && ran.messages.contains("Give --yes"), "\(ran.messages)")
      }
      #expect(try await statements(queue) == [])
      #expect(await Control(database: "host=/nonexistent")("month", "close", older).code == .usage)
      #expect(await queue.control("month", "close", older, "--yes").code == .done)
    }
  }

  @Test("--dry-run needs no terminal, says the same for programs, and closes nothing")
  func dryRun() async throws {
    try await with { (queue, older, newer) async throws in
      let ran = await queue.control("month", "close", older, "--dry-run", "--json")
      #expect(ran.code == .done)
      #expect(
        ran.output
          == #"{"months":[{"month":"\#(older)","outcome":"dry_run","users":2,"active":1,"used":3,"over":0,"open_jobs":3}],"adjustments":0}"#
          + "\n")
      let all = await queue.control("month", "close", "--due", "--dry-run")
      #expect(all.code == .done && all.output.contains(older) && all.output.contains(newer), "\(all.output)")
      #expect(try await statements(queue) == [])
      #expect(try await entries(queue) == [])
    }
  }

  @Test(
    "a month that has not begun, is running or is in its grace is refused, 75, with the moment from when on")
  func tooEarly() async throws {
    try await with { (queue, older, _) async throws in
      let current = try await queue.texts("SELECT analysis.period_text(analysis.current_month())")[0]
      let dueAt = try await queue.texts(
        """
        SELECT to_char(analysis.statement_due(analysis.current_month()) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"')
        """)[0]
      let running = await queue.control("month", "close", "current", "--yes")
      #expect(running.code == .tryLater)
      #expect(
        running.messages.contains(
          "\(current) is not over in every time zone: it may be closed from \(dueAt) on"),
        "\(running.messages)")
      let future = await queue.control("month", "close", "2690-01", "--yes")
      #expect(
        future.code == .tryLater && future.messages.contains("it may be closed from 2690-02-04 12:00:00Z on"))
      try await queue.execute("UPDATE analysis.setting SET value = '50 years' WHERE name = 'statement_grace'")
      let grace = await queue.control("month", "close", older, "--yes")
      #expect(
        grace.code == .tryLater && grace.messages.contains("in its time of grace: it may be closed from 20"))
      #expect(grace.messages.contains("analysisctl report usage --month \(older) writes a draft"))
      let none = await queue.control("month", "close", "--due", "--yes")
      #expect(none.code == .nothingToDo && none.output == "" && none.messages == "")
      #expect(try await statements(queue) == [])
    }
  }

  @Test("months are closed in their order: a later one is refused, 4, and names the first")
  func order() async throws {
    try await with { (queue, older, newer) async throws in
      let ran = await queue.control("month", "close", newer, "--yes")
      #expect(ran.code == .refused && ran.messages.contains("\(older) is not closed"), "\(ran.messages)")
      #expect(ran.messages.contains("analysisctl month close \(older)"))
      #expect(try await statements(queue) == [])
      #expect(await queue.control("month", "close", older, "--yes").code == .done)
      #expect(await queue.control("month", "close", newer, "--yes").code == .done)
      #expect(try await statements(queue) == [older, newer])
    }
  }

  @Test("a month before anything was used has nothing to close, 5")
  func unused() async throws {
    try await with { (queue, _, _) async throws in
      let ran = await queue.control("month", "close", "2020-01", "--yes")
      #expect(ran.code == .nothingToDo && ran.output.hasPrefix("Nothing was used in 2020-01 or before"))
      #expect(try await statements(queue) == [])
    }
  }

  @Test("--due closes all that can be closed, the oldest first, each with its entry; then 5 and silence")
  func due() async throws {
    try await with { (queue, older, newer) async throws in
      var control = queue.control
      control.typed = "n"
      let declined = await control("month", "close", "--due")
      #expect(declined.code == .refused && declined.messages.contains("Close these "), "\(declined.messages)")
      let ran = await queue.control("month", "close", "--due", "--yes")
      #expect(
        ran.code == .done
          && ran.lines.prefix(2) == ["\(older) closed with 2 lines", "\(newer) closed with 2 lines"])
      let closed = try await statements(queue)
      #expect(closed == closed.sorted() && closed.prefix(2) == [older, newer])
      let entries = try await entries(queue)
      #expect(entries.count == closed.count && entries[0].contains("month:\(older)"))
      #expect(entries[1].contains("month:\(newer)"))
      let again = await queue.control("month", "close", "--due", "--yes")
      #expect(again.code == .nothingToDo && again.output == "" && again.messages == "")
      control.outputTerminal = Terminal(isTerminal: true, width: 80)
      #expect(await control("month", "close", "--due").output == "No month can be closed.\n")
    }
  }

  @Test("what changed in a closed month is announced before the next is closed, and stated once")
  func adjustments() async throws {
    try await with { (queue, older, newer) async throws in
      #expect(await queue.control("month", "close", older, "--yes").code == .done)
      try await queue.execute("UPDATE analysis.usage SET used = used - 2 WHERE used = 3")
      let dry = await queue.control("month", "close", "--due", "--dry-run")
      #expect(dry.output.contains("Adjustments of closed months: 1 lines, -2 units.\n"), "\(dry.output)")
      #expect(await queue.control("month", "close", "--due", "--yes").code == .done)
      #expect(
        try await queue.texts(
          "SELECT analysis.period_text(period) || ' ' || used FROM analysis.statement_line WHERE for_period <> period"
        )
          == ["\(newer) -2"])
    }
  }

  @Test("a report after closing is byte for byte the same after later changes")
  func byteForByte() async throws {
    try await with { (queue, older, newer) async throws in
      func report() async -> String {
        await queue.control("report", "usage", "--month", older, "--format", "csv").output
      }
      let draft = await report()
      #expect(await report() == draft)
      #expect(try await statements(queue) == [])
      #expect(await queue.control("month", "close", older, "--yes").code == .done)
      #expect(await report() == draft)
      try await queue.execute(
        "UPDATE analysis.usage SET used = used + 7; UPDATE analysis.account SET zone = 'Asia/Tokyo'")
      #expect(await queue.control("month", "close", newer, "--yes").code == .done)
      #expect(await report() == draft)
    }
  }

  @Test(
    "list, and month alone, show each month's state, from when on it may be closed, its lines and open jobs")
  func list() async throws {
    try await with { (queue, older, newer) async throws in
      #expect(await queue.control("month", "close", older, "--yes").code == .done)
      let ran = await queue.control("month")
      #expect(ran.code == .done)
      #expect(
        ran.lines[0] == "MONTH    STATE    CLOSABLE FROM         CLOSED                LINES  OPEN JOBS")
      #expect(ran.lines[1].hasPrefix("\(older)  closed   ") && ran.lines[1].contains("      2  "))
      #expect(ran.lines[2].hasPrefix("\(newer)  due      ") && ran.lines[2].hasSuffix("  2"))
      #expect(try #require(ran.lines.last).contains("  running  "))
      let json = await queue.control("month", "list", "--json")
      #expect(json.output.contains(#"{"month":"\#(newer)","state":"due","closable_from":"20"#))
      #expect(json.output.contains(#""closed_at":null,"lines":null,"open_jobs":2}"#))
    }
  }

  @Test("the views: who watches hears of each, a pipe of what happened")
  func views() throws {
    let month = try Fixed.month("2026-10")
    let closed = BilledMonth(
      period: month, state: .closed, dueAt: Fixed.moment, closedAt: Fixed.moment, lines: 40,
      isPriced: true)
    let preview = ClosingPreview(
      period: month, users: 40, active: 12, used: 90, over: 3, open: 0, adjustments: 2, adjusted: -1)
    #expect(
      Fixed.text(MonthCloseResponse(lines: [.init(month: month, outcome: .already(closed))]))
        == "2026-10 is closed already, since 2026-10-01 00:00:00Z, with 40 lines\n")
    #expect(
      Fixed.text(MonthCloseResponse(lines: [.init(month: month, outcome: .meant(preview))])) == """
        This would be stated:
        MONTH    USERS  WITH USE  USED  OVER LIMIT  OPEN JOBS
        2026-10     40        12    90           3          0
        Adjustments of closed months: 2 lines, -1 units.

        """)
    #expect(Fixed.text(MonthCloseResponse(lines: [])) == "")
    #expect(Fixed.text(MonthCloseResponse(lines: []), width: 80) == "No month can be closed.\n")
    #expect(
      Fixed.json(MonthCloseResponse(lines: [.init(month: month, outcome: .closed(closed))]))
        == #"{"months":[{"month":"2026-10","outcome":"closed","closed_at":"2026-10-01T00:00:00.250Z","lines":40}],"adjustments":null}"#
    )
  }
}
