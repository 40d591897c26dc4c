public import AnalysisCore
import PostgreSQL

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
      QueueSQL.work, [.array(shards), .array(lanes.map(\.code)), .bool(all), .bool(late)],
      while: "looking which shards have work"
    ) { rows in
      var found: [Int16: ShardWork] = [:]
      for row in rows {
        let shard = try row.int16(0)
        var work = try found[shard] ?? ShardWork(row)
        if let scanFrom = try row.int64IfPresent(8) { work.waiting[try row.lane(7)] = scanFrom }
        found[shard] = work
      }
      return found
    }
  }

  /// The work of a shard in which nothing is to be done.
  public init() {}

  private init(_ row: Row) throws {
    movesMarks = try row.bool(1)
    nextRun = try row.doubleIfPresent(2)
    owesRefunds = try row.bool(3)
    held = try row.int(4)
    hasLostLeases = try row.bool(5)
    turns = Set(try row.string(6).split(separator: ",").map(String.init))
  }
}
