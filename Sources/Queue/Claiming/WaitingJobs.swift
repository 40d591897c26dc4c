public import PostgreSQL
public import Support

/// A number that was counted up to a bound only, since counting all would burden the queue.
public struct BoundedCount: Sendable, Equatable, CustomStringConvertible {
  /// How many were counted.
  public var value: Int
  /// Whether that is all.
  public var isExact: Bool
  /// Whether it is about right, where it is not exact; else there are more.
  var isAbout: Bool

  /// A count, exact unless told otherwise.
  public init(_ value: Int, isExact: Bool = true, isAbout: Bool = false) {
    self.value = value
    self.isExact = isExact
    self.isAbout = isAbout && !isExact
  }

  /// The number, with a plus sign when there are more, and `~` before it when it is about right.
  public var description: String { isExact ? String(value) : isAbout ? "~\(value)" : "\(value)+" }

  package static func + (left: BoundedCount, right: BoundedCount) -> BoundedCount {
    BoundedCount(
      left.value + right.value, isExact: left.isExact && right.isExact,
      isAbout: (left.isExact || left.isAbout) && (right.isExact || right.isAbout))
  }

  /// A count that stopped at one more than the bound.
  init(counted: Int, bound: Int) {
    self.init(min(counted, bound), isExact: counted <= bound)
  }
}

/// How many jobs are to be run, now and later. Cheap to ask: every count is bounded.
public struct WaitingJobs: Sendable {
  /// The lanes in which jobs wait, by number, each with how many.
  public let lanes: [(lane: Lane, count: BoundedCount)]
  /// Jobs that run later.
  public let scheduled: BoundedCount

  /// Asks a database.
  ///
  /// - Parameter bound: where counting stops, for each lane and shard.
  public static func read(
    _ database: ConnectionPool, bound: Int = 10_000
  ) async throws(JobQueueError) -> WaitingJobs {
    let shards = try await ShardDirectory(database).shards()
    var lanes: [Lane: BoundedCount] = [:]
    var scheduled = BoundedCount(0)
    for counted in try await database.run(shards.map { counts(in: $0, bound: bound) }).joined() {
      let waiting = BoundedCount(counted: counted.waiting, bound: bound)
      lanes[counted.lane] = (lanes[counted.lane] ?? BoundedCount(0)) + waiting
      scheduled = scheduled + BoundedCount(counted: counted.scheduled, bound: bound)
    }
    return WaitingJobs(
      lanes: lanes.filter { $0.value.value > 0 }.sorted { $0.key.code < $1.key.code }
        .map { (lane: $0.key, count: $0.value) },
      scheduled: scheduled)
  }

  private struct Counted: Decodable {
    let lane: Lane
    let waiting, scheduled: Int
  }

  private static func counts(in shard: Int16, bound: Int) -> Statement<[Counted]> {
    Statement(
      SQLFunction("count_lanes", 4),
      [.int16(shard), .array(Lane.codes), .nullArray(of: Int64.self), .int32(Int32(clamping: bound + 1))],
      as: [Counted].self, while: "counting what waits")
  }
}

extension Lane {
  /// The numbers of all lanes.
  static var codes: [Int16] { AnalysisKind.allCases.flatMap(Lane.all(of:)).map(\.code).sorted() }
}
