import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

/// Each expectation is a calculation by hand: units times price, rounded half up to the cent, and their sum.
@Suite("The segments by which a month is billed")
struct SegmentTests {
  @Test("a plan change on the 15th gives two lines, and the unit of that very moment is the new plan's")
  func planChange() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.setPrice("plus", "0.125")
      try await bill.add("ana", zone: "UTC")
      try await bill.take(
        "ana",
        at: [
          "2020-10-01T00:00:00Z", "2020-10-14T09:00:00Z", "2020-10-15T11:59:59Z", "2020-10-15T12:00:00Z",
          "2020-10-31T23:59:59Z",
        ])
      try await bill.setPlan("ana", "plus", from: "2020-10-15T12:00:00Z")
      let expected = [
        "ana basic 2020-10-01T00:00:00+00:00 - 2020-10-15T12:00:00+00:00: 3 x 0.50 = 1.50",
        "ana plus 2020-10-15T12:00:00+00:00 - 2020-11-01T00:00:00+00:00: 2 x 0.125 = 0.25",
      ]
      #expect(try await bill.lines("2020-10") == expected)
      try await bill.close("2020-10")
      #expect(try await bill.lines("2020-10") == expected)
      let statement = try await bill.statement("2020-10")
      #expect(statement.number == "2020-10-C1" && statement.state == .closed)
      #expect(statement.total == .init(units: 5, over: 0, amount: DecimalText("1.75")))
    }
  }

  @Test("half a cent is rounded up, line by line, and back down where it is given back")
  func rounding() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.125")
      for user in ["ana", "bob"] {
        try await bill.add(user, zone: "UTC")
        try await bill.take(user, at: ["2020-10-02T00:00:00Z"])
      }
      try await bill.close("2020-10")
      #expect(try await bill.statement("2020-10").total.amount == DecimalText("0.26"))
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      try await bill.close("2020-11")
      #expect(
        try await bill.lines("2020-11") == [
          "ana basic 2020-10-01T00:00:00+00:00 - 2020-11-01T00:00:00+00:00: -1 x 0.125 = -0.13 "
            + "(1 failed since the month was closed)"
        ])
    }
  }

  @Test("a price of the 31st begins at each user's own midnight")
  func thirtyFirst() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.setPrice("basic", "2", from: "2020-10-31")
      try await bill.add("ana", zone: "Asia/Jakarta")
      try await bill.add("bob", zone: "America/New_York")
      // 31 October, 00:30 in Jakarta; 30 October, 13:30 in New York.
      for user in ["ana", "bob"] { try await bill.take(user, at: ["2020-10-30T17:30:00Z"]) }
      #expect(
        try await bill.lines("2020-10") == [
          "ana basic 2020-10-31T00:00:00+07:00 - 2020-11-01T00:00:00+07:00: 1 x 2.00 = 2.00",
          "bob basic 2020-10-01T00:00:00-04:00 - 2020-10-31T00:00:00-04:00: 1 x 1.00 = 1.00",
        ])
    }
  }

  @Test("a leap day is a day of February")
  func leapDay() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.setPrice("basic", "2", from: "2020-02-29")
      try await bill.add("ana", zone: "UTC")
      try await bill.take(
        "ana", at: ["2020-02-28T23:59:59Z", "2020-02-29T00:00:00Z", "2020-02-29T23:59:59Z"])
      #expect(
        try await bill.lines("2020-02") == [
          "ana basic 2020-02-01T00:00:00+00:00 - 2020-02-29T00:00:00+00:00: 1 x 1.00 = 1.00",
          "ana basic 2020-02-29T00:00:00+00:00 - 2020-03-01T00:00:00+00:00: 2 x 2.00 = 4.00",
        ])
    }
  }

  @Test(
    "a day begins once where clocks go forward or back: at the first moment that clocks show of it",
    arguments: [
      // The night of 29 March has 23 hours in Berlin; midnight of 6 September is skipped in Santiago; that of 1 November
      // comes twice in Havana, where the month begins with the first.
      (
        "Europe/Berlin", "2020-03-29", "2020-03",
        "2020-03-29T00:00:00+01:00 - 2020-04-01T00:00:00+02:00", "2020-03-28T23:00:00Z"
      ),
      (
        "America/Santiago", "2020-09-06", "2020-09",
        "2020-09-06T01:00:00-03:00 - 2020-10-01T00:00:00-03:00", "2020-09-06T04:00:00Z"
      ),
      (
        "America/Havana", "2020-11-01", "2020-11",
        "2020-11-01T00:00:00-04:00 - 2020-12-01T00:00:00-05:00", "2020-11-01T04:00:00Z"
      ),
    ])
  func clockChanges(zone: String, day: String, month: String, segment: String, first: String) async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.setPrice("basic", "2", from: day)
      try await bill.add("ana", zone: zone)
      try await bill.take("ana", at: [first])
      #expect(try await bill.lines(month) == ["ana basic \(segment): 1 x 2.00 = 2.00"])
    }
  }

  @Test("after a change of the zone every unit is still billed once, in the month that it was taken in")
  func zoneChange() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.setPrice("basic", "2", from: "2020-10-20")
      try await bill.add("ana", zone: "UTC")
      // The last is of 1 November in Jakarta, and was taken in October.
      try await bill.take("ana", at: ["2020-10-01T00:00:00Z", "2020-10-31T20:00:00Z"])
      try await bill.queue.execute("SELECT analysis.set_zone(0::smallint, 'ana', 'Asia/Jakarta')")
      try await bill.take("ana", at: ["2020-10-31T20:00:00Z"])
      #expect(
        try await bill.lines("2020-10") == [
          "ana basic 2020-10-01T00:00:00+07:00 - 2020-10-20T00:00:00+07:00: 1 x 1.00 = 1.00",
          "ana basic 2020-10-20T00:00:00+07:00 - 2020-11-01T00:00:00+07:00: 1 x 2.00 = 2.00",
        ])
      #expect(
        try await bill.lines("2020-11") == [
          "ana basic 2020-11-01T00:00:00+07:00 - 2020-12-01T00:00:00+07:00: 1 x 2.00 = 2.00"
        ])
    }
  }

  @Test("the units of the month so far are compared with a segment's limit")
  func overTheLimit() async throws {
    try await withBilling { bill in
      try await bill.add("ana", zone: "UTC")
      try await bill.setPlan("ana", "plus", from: "2020-10-10T00:00:00Z")
      try await bill.setPlan("ana", "basic", from: "2020-10-20T00:00:00Z")
      let days = [1, 2, 11, 12, 13, 14, 21, 22]
      try await bill.take("ana", at: days.map { "2020-10-\($0 < 10 ? "0" : "")\($0)T00:00:00Z" })
      let statement = try await bill.statement("2020-10")
      #expect(statement.lines.map(\.units) == [2, 4, 2])
      #expect(statement.lines.map(\.over) == [0, 0, 2])
      #expect(statement.total == .init(units: 8, over: 2, amount: nil))
    }
  }

  @Test("an adjustment says in which segment, at which price, why; and the next statement has it no more")
  func adjustment() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.setPrice("plus", "2")
      try await bill.add("ana", zone: "UTC")
      try await bill.setPlan("ana", "plus", from: "2020-10-15T00:00:00Z")
      try await bill.take(
        "ana", at: ["2020-10-02T00:00:00Z", "2020-10-03T00:00:00Z", "2020-10-16T00:00:00Z"])
      try await bill.close("2020-10")
      // What it costs later changes no closed line, and none that adjusts it.
      try await bill.setPrice("basic", "9", from: "2020-12-01")
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      try await bill.take("ana", at: ["2020-11-05T00:00:00Z"])
      try await bill.close("2020-11")
      #expect(
        try await bill.lines("2020-11") == [
          "ana plus 2020-11-01T00:00:00+00:00 - 2020-12-01T00:00:00+00:00: 1 x 2.00 = 2.00",
          "ana basic 2020-10-01T00:00:00+00:00 - 2020-10-15T00:00:00+00:00: -1 x 0.50 = -0.50 "
            + "(1 failed since the month was closed)",
        ])
      #expect(try await bill.statement("2020-11").total.amount == DecimalText("1.50"))
      try await bill.close("2020-12")
      #expect(try await bill.lines("2020-12").isEmpty)
    }
  }

  @Test("a credit keeps its segment and price when another dead job of the month was removed after its time")
  func purgedDead() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.setPrice("plus", "2")
      try await bill.add("ana", zone: "UTC")
      try await bill.setPlan("ana", "plus", from: "2020-10-15T00:00:00Z")
      try await bill.take(
        "ana", at: ["2020-10-02T00:00:00Z", "2020-10-03T00:00:00Z", "2020-10-16T00:00:00Z"])
      try await bill.failFirst(of: "ana", at: "2020-10-05T00:00:00Z")
      try await bill.close("2020-10")
      try await bill.queue.execute(
        """
        UPDATE analysis.setting SET value = '7 days' WHERE name = 'keep_dead';
        SELECT analysis.purge_dead(0::smallint, 0, 1000, '2020-11-05Z', false, true);
        """)
      #expect(try await bill.queue.count("dead") == 0)
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      try await bill.close("2020-11")
      #expect(
        try await bill.lines("2020-11") == [
          "ana basic 2020-10-01T00:00:00+00:00 - 2020-10-15T00:00:00+00:00: -1 x 0.50 = -0.50 "
            + "(1 failed since the month was closed)"
        ])
    }
  }

  @Test("what lies over a segment's limit is judged by that limit after a credit too")
  func overAfterCredit() async throws {
    try await withBilling { bill in
      try await bill.add("ana", zone: "UTC")
      try await bill.setPlan("ana", "plus", from: "2020-10-01T00:00:00Z")
      try await bill.setPlan("ana", "basic", from: "2020-10-15T00:00:00Z")
      try await bill.take("ana", at: (1...10).map { "2020-10-02T00:00:\($0 + 10)Z" })
      try await bill.take("ana", at: ["2020-10-16T00:00:00Z", "2020-10-17T00:00:00Z"])
      try await bill.close("2020-10")
      #expect(try await bill.statement("2020-10").lines.map(\.over) == [0, 2])
      // 8 are left, of which the last 2 lie over 5.
      for second in 0..<4 { try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:0\(second)Z") }
      try await bill.close("2020-11")
      let adjustments = try await bill.statement("2020-11").adjustments
      #expect(adjustments.map(\.units) == [-4] && adjustments.map(\.over) == [0])
    }
  }

  @Test("a credit goes to the clinic that was billed")
  func movedUser() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.add("ana", zone: "UTC")
      try await bill.take("ana", at: ["2020-10-02T00:00:00Z"])
      try await bill.close("2020-10")
      try await bill.queue.execute(
        "SELECT analysis.add_clinic('south'); SELECT analysis.assign_clinic(0::smallint, 'ana', 'south')")
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      try await bill.close("2020-11")
      #expect(try await bill.statement("2020-10").total.units == 1)
      #expect(try await bill.statement("2020-11").total.units == -1)
      #expect(try await bill.statement("2020-11", .clinic("south")).total.units == 0)
      #expect(try await bill.statement("2020-11", .user("ana")).total.units == -1)
    }
  }

  @Test("a closed statement is the same after later changes; of an erased person only the name goes")
  func sameForEver() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.add("ana", zone: "UTC")
      try await bill.take("ana", at: ["2020-10-02T00:00:00Z", "2020-10-03T00:00:00Z"])
      let logos = ["\\xffd8ffc0000b080010002001ffd9", "\\xffd8ffc0000b080020002001ffd9"].map {
        "'\($0)'::bytea"
      }
      try await bill.queue.execute(
        "SELECT analysis.set_clinic('north', 'pharmacy', E'1 Street\\nTown', 'blue', \(logos[0]), \(logos[1]))"
      )
      try await bill.close("2020-10")
      let closed = try await bill.statement("2020-10")
      #expect(closed.holder.address == ["1 Street", "Town"])
      #expect(closed.holder.logo?.height == 32 && closed.holder.logo?.width == 32)
      try await bill.queue.execute(
        """
        UPDATE analysis.plan_price SET price = 7;
        UPDATE analysis.plan SET display_name = 'Renamed';
        UPDATE analysis.plan_limit SET monthly_limit = 1 WHERE plan_id = 7;
        SELECT analysis.set_clinic('north', 'clinic', '', '', \(logos[0]), ''::bytea);
        """)
      // The closed month keeps the picture that the clinic has no more.
      #expect(try await bill.queue.count("logo") == 2)
      #expect(try await bill.statement("2020-11").holder.logo?.height == 16)
      try await bill.setPlan("ana", "plus", from: "2020-10-01T12:00:00Z")
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      #expect(try await bill.statement("2020-10") == closed)
      try await bill.queue.execute("SELECT analysis.erase_user(0::smallint, 'ana', NULL, true)")
      var erased = closed
      erased.lines[0].user = "erased-1"
      #expect(try await bill.statement("2020-10") == erased)
    }
  }

  @Test("two currencies do not add up: each is asked for by itself, and has a number of its own")
  func currencies() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.setPrice("plus", "100", "JPY")
      try await bill.add("ana", zone: "UTC")
      try await bill.take("ana", at: ["2020-10-02T00:00:00Z", "2020-10-20T00:00:00Z"])
      try await bill.setPlan("ana", "plus", from: "2020-10-15T00:00:00Z")
      try await bill.close("2020-10")
      let error = await #expect(throws: ReportsError.self) { try await bill.statement("2020-10") }
      #expect(error?.code == .refused && error?.message.contains("EUR and JPY") == true)
      let euros = try await bill.statement("2020-10", currency: "EUR")
      let yen = try await bill.statement("2020-10", currency: "JPY")
      #expect(euros.number == "2020-10-C1-EUR" && euros.total.amount == DecimalText("0.50"))
      #expect(yen.number == "2020-10-C1-JPY" && yen.total.amount == DecimalText("100"))
    }
  }

  @Test("a month that was closed before there were segments has its lines, without a price")
  func withoutSegments() async throws {
    try await withBilling { bill in
      try await bill.add("ana", zone: "UTC")
      try await bill.take("ana", at: ["2020-10-02T00:00:00Z"])
      try await bill.close("2020-10")
      try await bill.queue.execute(
        """
        ALTER TABLE analysis.statement_segment DISABLE TRIGGER append_only;
        DELETE FROM analysis.statement_segment;
        ALTER TABLE analysis.statement_segment ENABLE TRIGGER append_only;
        """)
      let segment = "2020-10-01T00:00:00+00:00 - 2020-11-01T00:00:00+00:00"
      #expect(try await bill.lines("2020-10") == ["ana basic \(segment): 1 x - = -"])
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      try await bill.close("2020-11")
      #expect(
        try await bill.lines("2020-11") == [
          "ana - \(segment): -1 x - = - (1 failed since the month was closed)"
        ])
    }
  }

  @Test("a clinic or a user that is not there, and a price that cannot be, are refused")
  func refusals() async throws {
    try await withBilling { bill in
      for holder in [BillRequest.Holder.clinic("nowhere"), .user("nobody")] {
        let error = await #expect(throws: ReportsError.self) { try await bill.statement("2020-10", holder) }
        #expect(error?.code == .refused)
      }
      try await bill.setPrice("basic", "1", from: "2020-12-01")
      try await bill.close("2020-10")
      for (price, currency, from) in [
        ("1", "EUR", "2020-12-01"), ("1", "EUR", "2020-10-31"), ("1", "EURO", "2021-01-01"),
        ("1", "XXX", "2021-01-01"), ("-1", "EUR", "2021-01-01"), ("1e3", "EUR", "2021-01-01"),
        ("1.0000001", "EUR", "2021-01-01"), ("1", "EUR", "2021-02-29"), ("1", "EUR", "soon"),
      ] {
        let error = await #expect(throws: PostgreSQLError.self, "\(price) \(currency) \(from)") {
          try await bill.setPrice("basic", price, currency, from: from)
        }
        #expect(error?.sqlState?.hasPrefix("22") == true)
      }
      #expect(try await bill.queue.number("SELECT count(*)::int FROM analysis.plan_price") == 1)
    }
  }

  @Test("a plan that is added is there from then on, and can be given to nobody for a time before")
  func newPlan() async throws {
    try await withBilling { bill in
      try await bill.add("ana", zone: "UTC")
      #expect(try await bill.queue.text("SELECT analysis.add_plan('pro', 'Pro', 9, 1000)::text") == "true")
      #expect(try await bill.queue.text("SELECT analysis.add_plan('pro', 'Pro', 8, 1000)::text") == "false")
      let error = await #expect(throws: PostgreSQLError.self) {
        try await bill.setPlan("ana", "pro", from: "2020-01-01T00:00:00Z")
      }
      #expect(error?.sqlState == "22023" && error?.message.contains("plan pro is there since") == true)
    }
  }
}
