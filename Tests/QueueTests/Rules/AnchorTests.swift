import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

/// Dates are calculated by hand.
@Suite("Months that end on another day than the last")
struct AnchorTests {
  /// The days on which the periods of 2019, a common year, and of 2020, a leap year, end.
  static let ends: [(anchor: Int32, common: String, leap: String)] = [
    (
      1, "02-01 03-01 04-01 05-01 06-01 07-01 08-01 09-01 10-01 11-01 12-01 01-01",
      "02-01 03-01 04-01 05-01 06-01 07-01 08-01 09-01 10-01 11-01 12-01 01-01"
    ),
    (
      15, "01-15 02-15 03-15 04-15 05-15 06-15 07-15 08-15 09-15 10-15 11-15 12-15",
      "01-15 02-15 03-15 04-15 05-15 06-15 07-15 08-15 09-15 10-15 11-15 12-15"
    ),
    (
      29, "01-29 02-28 03-29 04-29 05-29 06-29 07-29 08-29 09-29 10-29 11-29 12-29",
      "01-29 02-29 03-29 04-29 05-29 06-29 07-29 08-29 09-29 10-29 11-29 12-29"
    ),
    (
      30, "01-30 02-28 03-30 04-30 05-30 06-30 07-30 08-30 09-30 10-30 11-30 12-30",
      "01-30 02-29 03-30 04-30 05-30 06-30 07-30 08-30 09-30 10-30 11-30 12-30"
    ),
    (
      31, "01-31 02-28 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31",
      "01-31 02-29 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31"
    ),
  ]

  @Test("a period ends on the anchor or the month's last day, and the next begins there", arguments: ends)
  func year(anchor: Int32, common: String, leap: String) async throws {
    try await withCheckedQueue(connections: 1) { queue in
      for (first, expected) in [(2019 * 12, common), (2020 * 12, leap)] {
        let ends = try await queue.texts(
          """
          SELECT string_agg(to_char(
            analysis.period_ends(p::smallint, 'Asia/Jakarta', $1) AT TIME ZONE 'Asia/Jakarta', 'MM-DD'), ' ' ORDER BY p)
          FROM generate_series($2::int, $2::int + 11) p
          """, [.array([anchor]), .int32(Int32(first))])
        #expect(ends == [expected])
      }
      let wrong = try await queue.numbers(
        """
        SELECT p FROM generate_series(24228, 24263) p
        CROSS JOIN LATERAL (SELECT analysis.period_begins(p::smallint, 'Asia/Jakarta', $1) AS at) s
        WHERE s.at <> analysis.period_ends((p - 1)::smallint, 'Asia/Jakarta', $1)
          OR analysis.period_at(s.at, 'Asia/Jakarta', $1) <> p
          OR analysis.period_at(s.at - interval '1 microsecond', 'Asia/Jakarta', $1) <> p - 1
        """, [.array([anchor])])
      #expect(wrong == [])
    }
  }

  /// Moments about midnights that are skipped or come twice, and about a change of the anchor.
  static let moments: [(moment: String, zone: String, anchors: String, month: String)] = [
    // Midnight of 6 September 2020 is skipped in Santiago, that of 8 March 2020 in Havana.
    ("2020-09-06T03:59:59.999999Z", "America/Santiago", "{6}", "2020-09"),
    ("2020-09-06T04:00:00Z", "America/Santiago", "{6}", "2020-10"),
    ("2020-03-08T04:59:59.999999Z", "America/Havana", "{8}", "2020-03"),
    ("2020-03-08T05:00:00Z", "America/Havana", "{8}", "2020-04"),
    // That of 3 November 2019 comes twice there: at 4 and at 5 o'clock UTC.
    ("2019-11-03T03:59:59.999999Z", "America/Havana", "{3}", "2019-11"),
    ("2019-11-03T04:00:00Z", "America/Havana", "{3}", "2019-12"),
    ("2019-11-03T05:00:00Z", "America/Havana", "{3}", "2019-12"),
    // Apia had no 30 December 2011.
    ("2011-12-30T09:59:59.999999Z", "Pacific/Apia", "{30}", "2011-12"),
    ("2011-12-30T10:00:00Z", "Pacific/Apia", "{30}", "2012-01"),
    // From February 2019 (24229) on the 15th, from May (24232) on calendar months again.
    ("2019-01-31T23:59:59Z", "UTC", "{775343,775425}", "2019-01"),
    ("2019-02-01T00:00:00Z", "UTC", "{775343,775425}", "2019-02"),
    ("2019-02-14T23:59:59Z", "UTC", "{775343,775425}", "2019-02"),
    ("2019-02-15T00:00:00Z", "UTC", "{775343,775425}", "2019-03"),
    ("2019-04-14T23:59:59Z", "UTC", "{775343,775425}", "2019-04"),
    ("2019-04-15T00:00:00Z", "UTC", "{775343,775425}", "2019-05"),
    ("2019-05-31T23:59:59Z", "UTC", "{775343,775425}", "2019-05"),
    ("2019-06-01T00:00:00Z", "UTC", "{775343,775425}", "2019-06"),
    ("2019-06-01T00:00:00Z", "UTC", "{}", "2019-06"), ("2019-05-31T23:59:59Z", "UTC", "{}", "2019-05"),
  ]

  @Test("a moment counts in one period", arguments: moments)
  func moment(moment: String, zone: String, anchors: String, month: String) async throws {
    try await withCheckedQueue(connections: 1) { queue in
      let counted = try await queue.texts(
        "SELECT analysis.period_text(analysis.period_at($1::text::timestamptz, $2, $3::text::int[]))",
        [.text(moment), .text(zone), .text(anchors)])
      #expect(counted == [month])
    }
  }

  // MARK: With the clock in the test's hand

  private func milliseconds(_ moment: String) throws -> Int64 {
    Int64(try Date(moment, strategy: .iso8601).timeIntervalSince1970 * 1000)
  }

  private func withClock(at moment: String, _ body: (QueueFixture) async throws -> Void) async throws {
    try await withCheckedQueue(from: SimulatedClock.template) { (queue) async throws in
      try await queue.setClock(milliseconds(moment))
      try await body(queue)
    }
  }

  @Test("the limit is free again at the anchor's midnight by the user's clocks, to the millisecond")
  func reset() async throws {
    try await withClock(at: "2021-02-10T00:00:00Z") { queue in
      try await queue.addUser("ana", plan: "free", zone: "Asia/Jakarta", anchor: 15)
      try await queue.addUser("bob", plan: "free", zone: "Asia/Jakarta")
      let midnight = try milliseconds("2021-02-14T17:00:00Z")
      try await queue.setClock(midnight - 1)
      for user in ["ana", "bob"] {
        let answers = try await queue.submit(Ask(user) * 6)
        #expect(answers.map(\.reason) == [nil, nil, nil, nil, nil, "quota"])
        #expect(answers.prefix(5).allSatisfy { $0.period == 24_253 })
      }
      try await queue.setClock(midnight)
      // Alone and among others: a single submit goes a way of its own.
      #expect(try await queue.submit([Ask("ana")]).map(\.period) == [24_254])
      #expect(try await queue.submit([Ask("ana")]).map(\.period) == [24_254])
      #expect(try await queue.submit(Ask("ana") * 3).map(\.period) == [24_254, 24_254, 24_254])
      #expect(try await queue.submit([Ask("ana")]).map(\.reason) == ["quota"])
      #expect(try await queue.submit([Ask("bob")]).map(\.reason) == ["quota"])
      #expect(
        try await queue.texts(
          "SELECT format('%s %s %s', o_period, o_used, o_limit) FROM analysis.user_shown(0::smallint, 'ana')")
          == ["24254 5 5"])
      #expect(
        try await queue.texts(
          "SELECT format('%s %s', o_user, o_period) FROM analysis.list_users(0::smallint, '', 10)")
          == ["ana 24254", "bob 24253"])
    }
  }

  @Test("a job for later pays in the period in which it may run")
  func later() async throws {
    try await withClock(at: "2021-02-10T00:00:00Z") { queue in
      try await queue.addUser("ana", zone: "UTC", anchor: 31)
      let end = Double(try milliseconds("2021-02-28T00:00:00Z")) / 1000
      let answers = try await queue.submit([
        Ask("ana", at: end - 0.001), Ask("ana", at: end), Ask("ana", at: end + 31 * 86_400 - 0.001),
        Ask("ana", at: end + 31 * 86_400),
      ])
      #expect(answers.map(\.period) == [24_253, 24_254, 24_254, 24_255])
    }
  }

  @Test(
    "a dead job that is retried, and a cancelled one, pay in the present period; one that runs stays in its own"
  )
  func again() async throws {
    try await withClock(at: "2021-02-14T12:00:00Z") { queue in
      try await queue.addUser("ana", zone: "UTC", anchor: 15)
      let dead = try await queue.deadJob("ana")
      let jobs = try await queue.create([Ask("ana", image: "a"), Ask("ana", image: "b")])
      #expect(try await queue.cancel([jobs[0]]) == [jobs[0]: "cancelled"])
      _ = try await queue.applyRefunds()
      try await queue.setClock(try milliseconds("2021-02-15T00:00:00Z"))
      #expect(try await queue.retryDead([dead]) == [dead: "requeued"])
      #expect(try await queue.uncancel([jobs[0]]) == [jobs[0]: "requeued"])
      #expect(
        try await queue.texts(
          "SELECT format('%s %s', id = $1, period) FROM analysis.job ORDER BY id", [.int64(jobs[1])])
          == ["f 24254", "f 24254", "t 24253"])
      #expect(try await queue.complete(try await queue.claim()).count == 3)
      #expect(try await queue.numbers("SELECT used FROM analysis.usage ORDER BY period") == [1, 2])
    }
  }

  /// What setting an anchor answers: `24254 true 24254`, or the state with which it is refused.
  private func set(_ queue: QueueFixture, _ day: Int16, from: Int16? = nil) async throws -> String {
    do {
      let row = try await queue.pool.query(
        """
        SELECT format('%s %s %s', coalesce(o_from::text, '-'), o_changed, o_period)
        FROM analysis.set_period(0::smallint, 'ana', $1, $2)
        """, [.int16(day), .int16(from)]
      ).single()
      return try row.string(0)
    } catch {
      return error.sqlState ?? "\(error)"
    }
  }

  /// The state with which a submit is refused as a whole; nil if it is not.
  private func state(of ask: Ask, _ queue: QueueFixture) async throws -> String? {
    do {
      _ = try await queue.submit([ask])
      return nil
    } catch {
      return (error as? PostgreSQLError)?.sqlState
    }
  }

  @Test(
    "an anchor holds from the beginning for who has used nothing, else from the first period that has not begun"
  )
  func change() async throws {
    try await withClock(at: "2021-02-10T00:00:00Z") { queue in
      try await queue.addUser("ana", zone: "UTC")
      #expect(try await set(queue, 20) == "- t 24253")
      #expect(try await set(queue, 20) == "- f 24253")
      #expect(try await set(queue, 1) == "- t 24253")
      _ = try await queue.create([Ask("ana")])
      // February is from the 1st on, and has begun.
      #expect(try await set(queue, 15, from: 24_253) == "22023")
      #expect(try await set(queue, 15) == "24254 t 24254")
      // A change that is still to come is replaced, or given up.
      #expect(try await set(queue, 31, from: 24_255) == "24255 t 24255")
      #expect(
        try await queue.texts("SELECT anchors::text FROM analysis.account") == ["{776143,776191}"])
      #expect(try await set(queue, 15, from: 24_254) == "24254 t 24254")
      #expect(try await set(queue, 1) == "24254 t 24254")
      #expect(try await queue.number("SELECT count(anchors) FROM analysis.account") == 0)
      #expect(try await set(queue, 0) == "22023")
      #expect(try await set(queue, 32) == "22023")
      // The shortest: from 1 to 2 March.
      #expect(try await set(queue, 2) == "24254 t 24254")
      try await queue.setClock(try milliseconds("2021-03-01T23:59:59Z"))
      #expect(try await queue.submit([Ask("ana")]).map(\.period) == [24_254])
      try await queue.setClock(try milliseconds("2021-03-02T00:00:00Z"))
      #expect(try await queue.submit([Ask("ana")]).map(\.period) == [24_255])
      // What has begun keeps its end.
      #expect(try await set(queue, 1, from: 24_255) == "22023")
      #expect(try await set(queue, 1) == "24256 t 24256")
    }
  }

  @Test("an export tells on which days a person's months ended")
  func exported() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("ana", zone: "UTC", anchor: 15)
      try await queue.execute("UPDATE analysis.account SET anchors = anchors || (24229 * 32 + 1)")
      let mark = try await queue.texts("SELECT o_export FROM analysis.open_export(0::smallint, 'ana')")[0]
      #expect(
        try await queue.texts(
          "SELECT analysis.export_user(0::smallint, user_id, $1) ->> 'anchors' FROM analysis.account",
          [.text(mark)])
          == [#"[{"from": null, "anchor": 15}, {"from": "2019-02", "anchor": 1}]"#])
    }
  }

  @Test(
    "what is labelled already, by a job that is to run later, keeps its label: the change is refused, or comes after"
  )
  func labelled() async throws {
    try await withClock(at: "2021-02-10T00:00:00Z") { queue in
      try await queue.addUser("ana", zone: "UTC")
      let april = Double(try milliseconds("2021-04-20T00:00:00Z")) / 1000
      #expect(try await queue.submit([Ask("ana", at: april)]).map(\.period) == [24_255])
      #expect(try await set(queue, 15, from: 24_254) == "22023")
      #expect(try await set(queue, 15, from: 24_255) == "22023")
      #expect(try await set(queue, 15) == "24256 t 24256")
      // May ends on the 15th, so that the 20th is June's.
      let may = Double(try milliseconds("2021-05-20T00:00:00Z")) / 1000
      #expect(
        try await queue.submit([Ask("ana", at: april), Ask("ana", at: may)]).map(\.period) == [
          24_255, 24_257,
        ])
    }
  }

  @Test(
    "a submit that read the anchor before it changed is refused, to be repeated; a change waits for an open submit"
  )
  func race() async throws {
    try await withClock(at: "2021-02-10T00:00:00Z") { (queue) async throws in
      try await queue.addUser("ana", zone: "UTC")
      try await queue.execute(
        "ALTER FUNCTION analysis.set_period(smallint, text, smallint, smallint) SET lock_timeout = '100ms'")
      let april = Double(try milliseconds("2021-04-20T00:00:00Z")) / 1000
      struct Undone: Error {}
      await #expect(throws: Undone.self) {
        try await queue.pool.transaction { transaction in
          _ = try await queue.submit([Ask("ana", at: april)], on: transaction)
          #expect(try await set(queue, 15) == "55P03")
          throw Undone()
        }
      }

      let change = "SELECT analysis.set_period(0::smallint, 'ana', 15::smallint, 24254::smallint)"
      try await changing(change, in: queue) { () async throws in
        #expect(try await state(of: Ask("ana", at: april), queue) == "55P03")
      }
      #expect(try await queue.submit([Ask("ana", at: april)]).map(\.period) == [24_256])
    }
  }

  @Test(
    "a submit beside the first anchor of a user who has used nothing is never counted in a period that is over",
    arguments: [false, true])
  func firstAnchor(hasCounter: Bool) async throws {
    try await withClock(at: "2021-02-20T00:00:00Z") { (queue) async throws in
      try await queue.addUser("ana", zone: "UTC")
      if hasCounter {
        // A login's first submit goes the long way.
        try await queue.execute(
          """
          INSERT INTO analysis.usage (shard, user_id, period) SELECT shard, user_id, 24253 FROM analysis.account;
          SELECT analysis.new_submitter()
          """)
      }
      let change = "SELECT analysis.set_period(0::smallint, 'ana', 15::smallint, NULL)"
      try await changing(change, in: queue) { () async throws in
        // One job of a user who has a counter goes the short way, which leaves it to the long one.
        #expect(try await state(of: Ask("ana", key: "once"), queue) == (hasCounter ? nil : "55P03"))
      }
      #expect(try await queue.submit([Ask("ana", key: "once")]).map(\.period) == [24_254])
      #expect(try await queue.numbers("SELECT period FROM analysis.job") == [24_254])
      #expect(try await queue.numbers("SELECT period FROM analysis.usage WHERE used > 0") == [24_254])
    }
  }

  @Test("a job for later that waits while an anchor to come is taken back gets the calendar's month")
  func takenBack() async throws {
    try await withClock(at: "2021-02-10T00:00:00Z") { (queue) async throws in
      try await queue.addUser("ana", zone: "UTC")
      let march = Double(try milliseconds("2021-03-20T00:00:00Z")) / 1000
      #expect(try await set(queue, 15, from: 24_254) == "24254 t 24254")
      let change = "SELECT analysis.set_period(0::smallint, 'ana', 1::smallint, NULL)"
      try await changing(change, in: queue) { () async throws in
        #expect(try await state(of: Ask("ana", at: march), queue) == "55P03")
      }
      #expect(try await queue.submit([Ask("ana", at: march)]).map(\.period) == [24_254])
    }
  }

  /// Does something that waits while a change is open, which is then committed.
  private func changing(
    _ change: String, in queue: QueueFixture, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await queue.pool.withConnection { (connection) async throws in
      try await connection.execute(script: "BEGIN; \(change)")
      async let done: Void = body()
      try await queue.untilSomebodyWaits()
      try await connection.execute(script: "COMMIT")
      try await done
    }
  }
}
