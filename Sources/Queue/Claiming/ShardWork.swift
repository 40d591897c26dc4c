import PostgreSQL
public import Support

/// What there is to do in one shard, as one call that reads tells it of all shards together.
public struct ShardWork: Sendable, Equatable {
  /// The lanes in which jobs wait, each with the published mark from which to claim.
  public var waiting: [Lane: Int64] = [:]
  /// Whether `tick` would move a mark on.
  public var movesMarks = false
  /// In how many seconds the next scheduled job is due; negative when it is, nil when there is none.
  public var nextRun: Double?
  /// Whether refunds, or places that were given up, are to be applied.
  public var owesRefunds = false
  /// How many jobs of the lanes asked for workers hold.
  public var held = 0
  /// Whether a lease may be lost.
  public var hasLostLeases = false
  /// The tasks of maintenance whose turn has come.
  public var turns: Set<String> = []

  /// Whether a scheduled job is due.
  public var isPromotionDue: Bool { nextRun.map { $0 <= 0 } ?? false }

  /// Asks which shards of a server have work; those that are left out have none.
  ///
  /// - Parameters:
  ///   - all: whether to look at leases and turns too.
  ///   - late: whether to look below the scan marks too, which takes longer.
  public static func statement(
    shards: [Int16], lanes: [Lane], all: Bool = false, late: Bool = false
  ) -> Statement<[Int16: ShardWork]> {
    Statement(
      function, [.array(shards), .array(lanes.map(\.code)), .bool(all), .bool(late)],
      while: "looking which shards have work"
    ) { rows in
      Dictionary(
        try rows.map { (try $0.int16("o_shard"), try ShardWork($0)) }, uniquingKeysWith: { first, _ in first }
      )
    }
  }

  private static let function = SQLFunction(
    "work", 4, "o_shard", "o_lanes", "o_scan_from", "o_marks", "o_next_run", "o_refunds", "o_held", "o_lost",
    "o_turns")

  /// The work of a shard in which nothing is to be done.
  public init() {}

  private init(_ row: Row) throws {
    let lanes = try row.arrayIfPresent("o_lanes", of: Int16.self) ?? []
    let scanFrom = try row.arrayIfPresent("o_scan_from", of: Int64.self) ?? []
    for (code, from) in zip(lanes, scanFrom) { waiting[try Lane(stored: code)] = from }
    movesMarks = try row.bool("o_marks")
    nextRun = try row.doubleIfPresent("o_next_run")
    owesRefunds = try row.bool("o_refunds")
    held = try row.int("o_held")
    hasLostLeases = try row.bool("o_lost")
    turns = Set(try row.array("o_turns", of: String.self))
  }
}
