import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("The database's months and plans, against an independent judge")
struct PeriodDifferentialTests {
  /// With summer time either way round the year, half and quarter hours, both sides of the date line and one that
  /// changed side (Apia, at the end of 2011), and clocks that go back or ahead at midnight (Havana, Santiago).
  static let zones = [
    "UTC", "Asia/Jakarta", "America/New_York", "America/Havana", "America/Santiago", "America/St_Johns",
    "America/Sao_Paulo", "Atlantic/Azores", "Europe/Berlin", "Europe/London", "Africa/Johannesburg",
    "Asia/Kolkata",
    "Asia/Kathmandu", "Asia/Tehran", "Australia/Adelaide", "Australia/Lord_Howe", "Pacific/Chatham",
    "Pacific/Apia",
    "Pacific/Auckland", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Pacific/Marquesas",
  ]

  /// Until 2011 clocks in St. John's went back at one minute past midnight, over the border, so that a month could
  /// begin twice and end once: of those years nothing can be asked.
  private static func years(of zone: String) -> ClosedRange<Int> {
    zone == "America/St_Johns" ? 2012...Months.years.upperBound : Months.years
  }

  /// A moment in milliseconds since 1970: any, or one about a month's beginning by the zone's clocks.
  private static func moment(_ months: Months, using random: inout SeededGenerator) -> Int64 {
    let year = Int.random(in: years(of: months.zone), using: &random)
    let month = Int.random(in: 1...12, using: &random)
    let border = months.start(of: Int16(year * 12 + month - 1))
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return border + Int64.random(in: -2...2, using: &random)
    case 1: return border + Int64.random(in: -8...8, using: &random) * 900_000
    case 2: return border + Int64.random(in: -100_000_000...100_000_000, using: &random)
    default: return border + Int64.random(in: 0...2_600_000_000, using: &random)
    }
  }

  @Test(
    "a moment counts in the month that the zone's calendar shows, and months begin where it begins them",
    arguments: Months.days)
  func months(anchor: Int) async throws {
    var random = SeededGenerator(seed: try SimulationSeeds.chosen()?.lowerBound ?? 1)
    let files = try await ZoneFiles(of: Self.zones)
    let months = try await files.months()
    var moments: [ZoneFiles.Moment] = []
    for zone in Self.zones {
      let months = try #require(months[zone]).ending(on: anchor)
      for _ in 0..<200 {
        moments.append(.init(zone: zone, time: Self.moment(months, using: &random), anchor: anchor))
      }
    }
    let (asked, inZones) = (moments.map(\.time), moments.map(\.zone))
    let labels = try await files.labels(of: moments)
    try #require(labels.count == moments.count)
    try await withCheckedQueue(connections: 1) { queue in
      let wrong = try await queue.texts(
        """
        SELECT format('%s in %s is %s, not %s', to_timestamp(m / 1000.0), z, p, e)
        FROM unnest($1::bigint[], $2::text[], $3::smallint[]) u(m, z, e)
        CROSS JOIN LATERAL (
          SELECT analysis.period_at(to_timestamp(m / 1000.0), z, nullif($4::int[], '{1}')) AS p) o
        -- The same month must begin at or before the moment, and the next after it.
        WHERE p <> e OR analysis.period_begins(p, z, $4) > to_timestamp(m / 1000.0)
           OR analysis.period_ends(p, z, $4) <= to_timestamp(m / 1000.0)
           OR $4 = '{1}' AND (
             analysis.period_of(to_timestamp(m / 1000.0), z) <> p
               OR analysis.period_start(p, z) <> analysis.period_begins(p, z, NULL))
        """, [.array(asked), .array(inZones), .array(labels), .array([Int32(anchor)])])
      #expect(wrong == [])
    }
  }

  @Test("each month begins at the first moment that the zone's calendar counts to it", arguments: Months.days)
  func starts(anchor: Int) async throws {
    let months = try await ZoneFiles(of: Self.zones).months()
    var labels: [Int16] = []
    var zones: [String] = []
    var expected: [Int64] = []
    for zone in Self.zones {
      let months = try #require(months[zone]).ending(on: anchor)
      // The months in which clocks change somewhere near the first, and one in which they do not.
      for year in Self.years(of: zone) {
        for month in [1, 2, 3, 4, 10, 11] {
          let label = Int16(year * 12 + month - 1)
          labels.append(label)
          zones.append(zone)
          expected.append(months.start(of: label))
        }
      }
    }
    let (asked, inZones, starts) = (labels, zones, expected)
    try await withCheckedQueue(connections: 1) { queue in
      let wrong = try await queue.texts(
        """
        SELECT format('%s in %s begins at %s, not %s', analysis.period_text(p), z, s, to_timestamp(e / 1000.0))
        FROM unnest($1::smallint[], $2::text[], $3::bigint[]) u(p, z, e)
        CROSS JOIN LATERAL (SELECT analysis.period_begins(p, z, $4) AS s) o
        WHERE s <> to_timestamp(e / 1000.0)
        """, [.array(asked), .array(inZones), .array(starts), .array([Int32(anchor)])])
      #expect(wrong == [])
    }
  }

  @Test("the limit in force at any moment is that of the last change of plan and limit before it")
  func limits() async throws {
    var random = SeededGenerator(seed: try SimulationSeeds.chosen()?.lowerBound ?? 1)
    let months = try await Fleet.months()
    var fleet = Fleet(months, using: &random)
    while fleet.members.count < 2 { fleet = Fleet(months, using: &random) }
    let start = QueueModel.start(fleet, using: &random)
    let changes: [QueueOperation] = (0..<120).map { _ in
      let from = start.now + Int64.random(in: -50...50, using: &random) * 3_600_000
      let plan = Fleet.plans[Int.random(in: 0..<3, using: &random)]
      if Bool.random(using: &random) {
        let member = fleet.members[Int.random(in: fleet.members.indices, using: &random)]
        return .setPlan(user: member.reference, plan, from: from)
      }
      return .setLimit(
        plan: plan, Bool.random(using: &random) ? nil : Int.random(in: 0...90, using: &random), from: from)
    }
    let moments = (0..<2000).map { _ in
      // On the hour, where changes are, or a millisecond beside it.
      start.now + Int64.random(in: -55...55, using: &random) * 3_600_000
        + Int64.random(in: -1...1, using: &random)
    }
    try await withCheckedQueue(from: SimulatedClock.template, connections: 1) { queue in
      var pair = Pair(queue: queue, model: start, fleet: fleet)
      try await pair.prepare()
      for change in changes { try await pair.apply(change) }
      for user in pair.model.users.values {
        let rows = try await queue.pool.query(
          """
          SELECT l.monthly_limit, l.cost FROM unnest($1::bigint[]) WITH ORDINALITY u(m, i)
          CROSS JOIN LATERAL analysis.limit_of(0::smallint, $2, to_timestamp(m / 1000.0)) l ORDER BY i
          """, [.array(moments), .int64(user.number)])
        #expect(rows.count == moments.count)
        for (row, moment) in zip(rows, moments) {
          let (limit, cost) = pair.model.limit(of: user, at: moment)
          try hold(
            try row.intIfPresent(0) == limit && row.int64(1) == cost,
            "\(user.reference) at \(moment) has \(String(describing: limit))")
        }
      }
    }
  }
}
