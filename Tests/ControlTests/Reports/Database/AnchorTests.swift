import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

/// Each expectation is a calculation by hand, as in SegmentTests.
@Suite("Statements of users whose months end on another day than the last")
struct AnchorTests {
  @Test("a plan change at the anchor's midnight cuts no period in two, one at noon does")
  func planChange() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "0.50")
      try await bill.setPrice("plus", "0.125")
      for (user, moment) in [("ana", "2020-10-15T00:00:00Z"), ("bob", "2020-10-15T12:00:00Z")] {
        try await bill.add(user, zone: "UTC", anchor: 15)
        try await bill.take(
          user,
          at: [
            "2020-09-15T00:00:00Z", "2020-10-14T23:59:59Z", "2020-10-15T00:00:00Z", "2020-11-14T23:59:59Z",
          ])
        try await bill.setPlan(user, "plus", from: moment)
      }
      #expect(
        try await bill.lines("2020-10") == [
          "ana basic 2020-09-15T00:00:00+00:00 - 2020-10-15T00:00:00+00:00: 2 x 0.50 = 1.00",
          "bob basic 2020-09-15T00:00:00+00:00 - 2020-10-15T00:00:00+00:00: 2 x 0.50 = 1.00",
        ])
      #expect(
        try await bill.lines("2020-11") == [
          "ana plus 2020-10-15T00:00:00+00:00 - 2020-11-15T00:00:00+00:00: 2 x 0.125 = 0.25",
          "bob basic 2020-10-15T00:00:00+00:00 - 2020-10-15T12:00:00+00:00: 1 x 0.50 = 0.50",
          "bob plus 2020-10-15T12:00:00+00:00 - 2020-11-15T00:00:00+00:00: 1 x 0.125 = 0.13",
        ])
    }
  }

  @Test("a closed month has both kinds of users, and its bytes stay when anchor, zone and name change later")
  func bothKinds() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.add("ana", zone: "Asia/Jakarta", anchor: 15)
      try await bill.add("bob", zone: "UTC")
      // Of Jakarta's 15 October the second is the first moment.
      try await bill.take("ana", at: ["2020-10-14T16:59:59Z", "2020-10-14T17:00:00Z"])
      try await bill.take("bob", at: ["2020-10-31T23:59:59Z", "2020-11-01T00:00:00Z"])
      let expected = [
        "ana basic 2020-09-15T00:00:00+07:00 - 2020-10-15T00:00:00+07:00: 1 x 1.00 = 1.00",
        "bob basic 2020-10-01T00:00:00+00:00 - 2020-11-01T00:00:00+00:00: 1 x 1.00 = 1.00",
      ]
      #expect(try await bill.lines("2020-10") == expected)
      try await bill.close("2020-10")
      let closed = try await bill.statement("2020-10")
      #expect(try await bill.lines("2020-10") == expected)
      #expect(
        try await bill.queue.texts(
          "SELECT last_reset_local::text FROM analysis.usage_report(24249::smallint, NULL, now()) ORDER BY line"
        )
          == ["2020-09-15 00:00:00", "2020-10-01 00:00:00"])

      try await bill.queue.execute(
        """
        SELECT analysis.set_zone(0::smallint, 'ana', 'UTC');
        SELECT analysis.set_period(0::smallint, 'ana', 31::smallint, NULL);
        SELECT analysis.set_period(0::smallint, 'bob', 2::smallint, NULL)
        """)
      #expect(try await bill.statement("2020-10") == closed)
      try await bill.close("2020-11")
      #expect(try await bill.statement("2020-10") == closed)
      // By then ana's clocks are those of UTC; the anchor of a month that had begun is the one that it had.
      #expect(
        try await bill.lines("2020-11") == [
          "ana basic 2020-10-15T00:00:00+00:00 - 2020-11-15T00:00:00+00:00: 1 x 1.00 = 1.00",
          "bob basic 2020-11-01T00:00:00+00:00 - 2020-12-01T00:00:00+00:00: 1 x 1.00 = 1.00",
        ])
    }
  }

  @Test("what changes of a closed period is adjusted in it, with its own days")
  func adjustment() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.add("ana", zone: "Asia/Jakarta", anchor: 15)
      try await bill.take("ana", at: ["2020-09-20T00:00:00Z", "2020-10-14T16:59:59Z"])
      try await bill.close("2020-10")
      try await bill.failFirst(of: "ana", at: "2020-11-20T00:00:00Z")
      try await bill.close("2020-11")
      #expect(
        try await bill.lines("2020-11") == [
          "ana basic 2020-09-15T00:00:00+07:00 - 2020-10-15T00:00:00+07:00: -1 x 1.00 = -1.00 "
            + "(1 failed since the month was closed)"
        ])
      #expect(
        try await bill.queue.texts(
          """
          SELECT last_reset_local::text FROM analysis.statement_line
          WHERE period = 24250 AND for_period = 24249
          """) == ["2020-09-15 00:00:00"])
    }
  }

  @Test("after a change of the zone every unit is still billed once, in the period that it was taken in")
  func zoneChange() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.add("ana", zone: "UTC", anchor: 15)
      // It is 14 October by UTC and 15 October in Jakarta.
      try await bill.take("ana", at: ["2020-10-14T20:00:00Z"])
      try await bill.queue.execute("SELECT analysis.set_zone(0::smallint, 'ana', 'Asia/Jakarta')")
      try await bill.take("ana", at: ["2020-10-14T20:00:00Z"])
      #expect(
        try await bill.lines("2020-10") == [
          "ana basic 2020-09-15T00:00:00+07:00 - 2020-10-15T00:00:00+07:00: 1 x 1.00 = 1.00"
        ])
      #expect(
        try await bill.lines("2020-11") == [
          "ana basic 2020-10-15T00:00:00+07:00 - 2020-11-15T00:00:00+07:00: 1 x 1.00 = 1.00"
        ])
    }
  }

  @Test("with the 31st a period ends on the last day of a shorter month, also of a leap February")
  func thirtyFirst() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.add("ana", zone: "UTC", anchor: 31)
      try await bill.take(
        "ana",
        at: [
          "2020-02-28T23:59:59Z", "2020-02-29T00:00:00Z", "2020-03-30T23:59:59Z", "2020-03-31T00:00:00Z",
        ])
      #expect(
        try await bill.lines("2020-02") + bill.lines("2020-03") + bill.lines("2020-04") == [
          "ana basic 2020-01-31T00:00:00+00:00 - 2020-02-29T00:00:00+00:00: 1 x 1.00 = 1.00",
          "ana basic 2020-02-29T00:00:00+00:00 - 2020-03-31T00:00:00+00:00: 2 x 1.00 = 2.00",
          "ana basic 2020-03-31T00:00:00+00:00 - 2020-04-30T00:00:00+00:00: 1 x 1.00 = 1.00",
        ])
    }
  }

  @Test("where a midnight is skipped or comes twice the period ends at the day's first moment")
  func clockChanges() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      // Midnight of 6 September 2020 is skipped in Santiago; that of 3 November 2019 comes twice in Havana.
      try await bill.add("ana", zone: "America/Santiago", anchor: 6)
      try await bill.take("ana", at: ["2020-09-06T03:59:59Z", "2020-09-06T04:00:00Z"])
      try await bill.add("bob", zone: "America/Havana", anchor: 3)
      try await bill.take(
        "bob", at: ["2019-11-03T03:59:59Z", "2019-11-03T04:00:00Z", "2019-11-03T05:00:00Z"])
      #expect(
        try await bill.lines("2020-09") + bill.lines("2020-10") == [
          "ana basic 2020-08-06T00:00:00-04:00 - 2020-09-06T01:00:00-03:00: 1 x 1.00 = 1.00",
          "ana basic 2020-09-06T01:00:00-03:00 - 2020-10-06T00:00:00-03:00: 1 x 1.00 = 1.00",
        ])
      #expect(
        try await bill.lines("2019-11") + bill.lines("2019-12") == [
          "bob basic 2019-10-03T00:00:00-04:00 - 2019-11-03T00:00:00-04:00: 1 x 1.00 = 1.00",
          "bob basic 2019-11-03T00:00:00-04:00 - 2019-12-03T00:00:00-05:00: 2 x 1.00 = 2.00",
        ])
    }
  }

  @Test("a change of the anchor makes one period shorter, the change back one longer, without gap or overlap")
  func anchorChange() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.add("ana", zone: "UTC")
      // 15 from February 2021 (24253) on, calendar months from May (24256) on.
      try await bill.queue.execute(
        "UPDATE analysis.account SET anchors = ARRAY[24253 * 32 + 15, 24256 * 32 + 1]")
      try await bill.take(
        "ana",
        at: [
          "2021-01-31T23:59:59Z", "2021-02-01T00:00:00Z", "2021-02-14T23:59:59Z", "2021-02-15T00:00:00Z",
          "2021-04-14T23:59:59Z", "2021-04-15T00:00:00Z", "2021-05-31T23:59:59Z", "2021-06-01T00:00:00Z",
        ])
      var lines: [String] = []
      for month in 1...6 { lines += try await bill.lines("2021-0\(month)") }
      #expect(
        lines == [
          "ana basic 2021-01-01T00:00:00+00:00 - 2021-02-01T00:00:00+00:00: 1 x 1.00 = 1.00",
          "ana basic 2021-02-01T00:00:00+00:00 - 2021-02-15T00:00:00+00:00: 2 x 1.00 = 2.00",
          "ana basic 2021-02-15T00:00:00+00:00 - 2021-03-15T00:00:00+00:00: 1 x 1.00 = 1.00",
          "ana basic 2021-03-15T00:00:00+00:00 - 2021-04-15T00:00:00+00:00: 1 x 1.00 = 1.00",
          "ana basic 2021-04-15T00:00:00+00:00 - 2021-06-01T00:00:00+00:00: 2 x 1.00 = 2.00",
          "ana basic 2021-06-01T00:00:00+00:00 - 2021-07-01T00:00:00+00:00: 1 x 1.00 = 1.00",
        ])
    }
  }

  @Test("of an erased user the closed period keeps its days and units, under a number")
  func erased() async throws {
    try await withBilling { bill in
      try await bill.setPrice("basic", "1")
      try await bill.add("ana", zone: "UTC", anchor: 15)
      try await bill.take("ana", at: ["2020-10-01T00:00:00Z"])
      try await bill.close("2020-10")
      try await bill.queue.execute("SELECT analysis.erase_user(0::smallint, 'ana', NULL, true)")
      #expect(
        try await bill.lines("2020-10") == [
          "erased-1 basic 2020-09-15T00:00:00+00:00 - 2020-10-15T00:00:00+00:00: 1 x 1.00 = 1.00"
        ])
      #expect(
        try await bill.queue.number(
          "SELECT count(*) FROM analysis.set_period(0::smallint, 'erased-1', 1::smallint, NULL)") == 0)
    }
  }

  @Test("added up by day a month has its periods' days, and other days have what lies on them")
  func days() async throws {
    try await withBilling { bill in
      try await bill.add("ana", zone: "UTC", anchor: 15)
      try await bill.add("bob", zone: "UTC")
      for user in ["ana", "bob"] {
        try await bill.take(
          user, at: ["2020-09-20T00:00:00Z", "2020-10-14T00:00:00Z", "2020-10-15T00:00:00Z"])
      }
      func days(_ first: String, _ last: String) async throws -> [String] {
        try await bill.queue.texts(
          """
          SELECT o_group || ' ' || o_used FROM analysis.usage_groups('day', '\(first)', '\(last)', NULL, NULL)
          WHERE NOT o_is_sum
          """)
      }
      #expect(
        try await days("2020-10-01", "2020-10-31") == ["2020-09-20 1", "2020-10-14 2", "2020-10-15 1"])
      #expect(try await days("2020-10-10", "2020-10-20") == ["2020-10-14 2", "2020-10-15 2"])
      #expect(try await days("2020-09-15", "2020-09-29") == ["2020-09-20 2"])
    }
  }
}
