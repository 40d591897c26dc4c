import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport

/// The months of a zone, from January 2005 to December 2035.
struct Months {
  static let years = 2005...2035

  /// The IANA name.
  let zone: String
  /// The first moments of the months, in milliseconds since 1970.
  private let starts: [Int64]

  fileprivate init(zone: String, starts: [Int64]) {
    self.zone = zone
    self.starts = starts
  }

  /// The month of a moment, as year times twelve plus the month from zero.
  func label(at time: Int64) -> Int16 {
    // The first one after it, by halving.
    var (low, high) = (0, starts.count)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] > time { high = middle } else { low = middle + 1 }
    }
    return Int16(Self.years.lowerBound * 12 + low - 1)
  }

  /// The first moment of a month.
  func start(of label: Int16) -> Int64 {
    starts[Int(label) - Self.years.lowerBound * 12]
  }
}

/// The months of zones as Python finds them in the zone files that the server of the tests reads: the system's, or
/// those of the server's own package where it was built without the system's. What the Swift toolchain knows of zones
/// may be older.
struct ZoneFiles: Sendable {
  /// A moment, in milliseconds since 1970, in a zone.
  struct Moment: Encodable {
    let zone: String
    let time: Int64
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
    let starts: [String: [Int64]] = try await ask(
      """
      # The first moment that lies in a month, to the minute: found by halving between one that does not and one that
      # does, so that no wall time that comes twice or not at all misleads.
      def start(zone, label):
          day = datetime.datetime(label // 12, label % 12 + 1, 2, tzinfo=datetime.timezone.utc)
          inside = int(day.timestamp()) // 60 + 24 * 60
          outside = inside - 5 * 24 * 60
          while inside - outside > 1:
              middle = (inside + outside) // 2
              if month(zone, middle * 60) == label: inside = middle
              else: outside = middle
          return inside * 60000
      labels = range(asked["first"] * 12, asked["last"] * 12 + 12)
      answer = {name: [start(zone, label) for label in labels] for name, zone in zones.items()}
      """, ["first": Months.years.lowerBound, "last": Months.years.upperBound])
    return Dictionary(uniqueKeysWithValues: starts.map { ($0, Months(zone: $0, starts: $1)) })
  }

  /// The months in which moments lie.
  func labels(of moments: [Moment]) async throws -> [Int16] {
    try await ask("answer = [month(zones[m['zone']], m['time'] / 1000) for m in asked]", moments)
  }

  /// Runs a script over the zones and what is asked, and gives its answer.
  private func ask<Answer: Decodable>(_ script: String, _ asked: some Encodable) async throws -> Answer {
    let input = try JSONEncoder().encode(Question(files: files, asked: asked))
    let output = try await HelperProgram.output(
      "/usr/bin/python3",
      [
        "-c",
        """
        import base64, datetime, io, json, sys, zoneinfo
        given = json.load(sys.stdin)
        asked = given["asked"]
        zones = {name: zoneinfo.ZoneInfo.from_file(io.BytesIO(base64.b64decode(file)), key=name)
                 for name, file in given["files"].items()}
        def month(zone, seconds):
            local = datetime.datetime.fromtimestamp(seconds, zone)
            return local.year * 12 + local.month - 1
        \(script)
        print(json.dumps(answer))
        """,
      ], input: Array(input))
    return try JSONDecoder().decode(Answer.self, from: Data(output))
  }
}
