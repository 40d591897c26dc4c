import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport

/// The months of a user in a zone, from January 2005 to December 2035: those of the calendar, or others that end on the
/// user's anchors.
struct Months {
  static let years = 2005...2035
  /// The days on which months may end here.
  static let days = [1, 2, 15, 29, 30, 31]

  /// The IANA name.
  let zone: String
  /// For each day, where the months that end on it end, in milliseconds since 1970; first the one before the first.
  private let ends: [Int: [Int64]]
  /// From which month on they end on which day, in order; before, they are the calendar's.
  private var anchors: [(from: Int16, day: Int)] = []

  fileprivate init(zone: String, ends: [Int: [Int64]]) {
    self.zone = zone
    self.ends = ends
  }

  /// The months of a user of the same zone that end on a day from a month on; what was to come after it is given up.
  func ending(on day: Int, from label: Int16 = 0) -> Months {
    var changed = self
    changed.anchors.removeAll { $0.from >= label }
    if changed.anchor(of: label) != day { changed.anchors.append((label, day)) }
    return changed
  }

  /// The day on which a month ends; 1 for one of the calendar.
  func anchor(of label: Int16) -> Int { anchors.last { $0.from <= label }?.day ?? 1 }

  /// The changes of the anchor, each as `2026-12 15`.
  var changes: [String] { anchors.map { "\($0.from) \($0.day)" } }

  /// The month of a moment, as year times twelve plus the month from zero.
  func label(at time: Int64) -> Int16 {
    // The first one that begins after it, by halving.
    var (low, high) = (Self.years.lowerBound * 12, Self.years.upperBound * 12 + 12)
    while low < high {
      let middle = (low + high) / 2
      if start(of: Int16(middle)) > time { high = middle } else { low = middle + 1 }
    }
    return Int16(low - 1)
  }

  /// The first moment of a month.
  func start(of label: Int16) -> Int64 { end(of: label - 1) }

  /// The first moment after a month.
  private func end(of label: Int16) -> Int64 {
    ends[anchor(of: label)]?[Int(label) - Self.years.lowerBound * 12 + 1] ?? 0
  }
}

/// The months of zones as Python finds them in the zone files that the server of the tests reads: the system's, or
/// those of the server's own package where it was built without the system's. What the Swift toolchain knows of zones
/// may be older.
struct ZoneFiles: Sendable {
  /// A moment, in milliseconds since 1970, in a zone, for a user whose months end on a day.
  struct Moment: Encodable {
    let zone: String
    let time: Int64
    var anchor = 1
  }

  private struct Question<Asked: Encodable>: Encodable {
    let files: [String: String]
    let asked: Asked
  }

  /// The bytes of the zones' files, in base 64.
  private let files: [String: String]

  /// Has the server read its files of some zones.
  init(of zones: [String]) async throws {
    files = try await withTestDatabase { database in
      let loop = try EventLoop(name: "zone-files")
      defer { loop.shutdown() }
      let rows = try await database.connect(on: loop).query(
        """
        SELECT z.name, encode(pg_read_binary_file(f.folder || '/' || z.name), 'base64')
        FROM unnest($1::text[]) z(name)
        CROSS JOIN (
          SELECT coalesce(substring(c.setting from '--with-system-tzdata=([^'']*)'), s.setting || '/timezone') AS folder
          FROM pg_config() c, pg_config() s WHERE c.name = 'CONFIGURE' AND s.name = 'SHAREDIR') f
        """, [.array(zones)])
      return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.string(0), try $0.string(1)) })
    }
  }

  /// The months of each zone.
  func months() async throws -> [String: Months] {
    let ends: [String: [String: [Int64]]] = try await ask(
      """
      # The first moment of a day, to the minute: found by halving between one before it and one after it, so that no
      # wall time that comes twice or not at all misleads.
      def first(zone, day):
          noon = datetime.datetime(day.year, day.month, day.day, 12, tzinfo=datetime.timezone.utc)
          inside = int(noon.timestamp()) // 60 + 2 * 24 * 60
          outside = inside - 5 * 24 * 60
          while inside - outside > 1:
              middle = (inside + outside) // 2
              if datetime.datetime.fromtimestamp(middle * 60, zone).date() >= day: inside = middle
              else: outside = middle
          return inside * 60000
      # The day before which a month ends.
      def end(label, anchor):
          year, month = label // 12, label % 12 + 1
          length = calendar.monthrange(year, month)[1]
          if anchor == 1: return datetime.date(year, month, length) + datetime.timedelta(days=1)
          return datetime.date(year, month, min(anchor, length))
      labels = range(asked["years"][0] * 12 - 1, asked["years"][1] * 12 + 12)
      answer = {name: {anchor: [first(zone, end(label, anchor)) for label in labels] for anchor in asked["days"]}
                for name, zone in zones.items()}
      """, ["years": [Months.years.lowerBound, Months.years.upperBound], "days": Months.days])
    return Dictionary(
      uniqueKeysWithValues: ends.map { zone, ends in
        (
          zone,
          Months(
            zone: zone,
            ends: Dictionary(
              uniqueKeysWithValues: ends.compactMap { day, ends in Int(day).map { ($0, ends) } }))
        )
      })
  }

  /// The months in which moments lie, as the clocks' day says it: from the anchor on it is the next month.
  func labels(of moments: [Moment]) async throws -> [Int16] {
    try await ask(
      """
      def month(zone, seconds, anchor):
          local = datetime.datetime.fromtimestamp(seconds, zone)
          isNext = 1 < anchor and min(anchor, calendar.monthrange(local.year, local.month)[1]) <= local.day
          return local.year * 12 + local.month - 1 + isNext
      answer = [month(zones[m['zone']], m['time'] / 1000, m['anchor']) for m in asked]
      """, moments)
  }

  /// Runs a script over the zones and what is asked, and gives its answer.
  private func ask<Answer: Decodable>(_ script: String, _ asked: some Encodable) async throws -> Answer {
    let input = try JSONEncoder().encode(Question(files: files, asked: asked))
    let output = try await HelperProgram.output(
      "/usr/bin/python3",
      [
        "-c",
        """
        import base64, calendar, datetime, io, json, sys, zoneinfo
        given = json.load(sys.stdin)
        asked = given["asked"]
        zones = {name: zoneinfo.ZoneInfo.from_file(io.BytesIO(base64.b64decode(file)), key=name)
                 for name, file in given["files"].items()}
        \(script)
        print(json.dumps(answer))
        """,
      ], input: Array(input))
    return try JSONDecoder().decode(Answer.self, from: Data(output))
  }
}
