import PostgreSQL
import Queue
import Support

/// A batch and how far it is.
struct BatchStatus: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "batch"]

  /// The batch.
  let id: BatchID
  /// What the submitter called it; nil where it has no name, or has none any more.
  let name: String?
  /// When it was made, in seconds since 1970.
  let createdAt: Double
  /// The login that made it; nil where that is gone.
  let login: String?
  /// What was refused and has no job; nil where the login sees a part of the batch only.
  let refused: Int?
  /// Its jobs, in all shards.
  var counts: BatchCounts
  /// Whether jobs are run; nil where that is not known.
  var queue: QueueState?

}

extension BatchStatus {
  /// What the batch is called: its name, else the day on which it was made.
  var shownName: String { name ?? String(Moment.short(createdAt).prefix(10)) }

  /// How many of its jobs end in a second: `2.5/s`.
  var shownRate: String? { counts.rate.map { "\(($0 * 10).rounded() / 10)/s" } }

  /// How long the rest takes, in seconds; nil where nothing is left, no rate is known, or jobs are not run.
  var secondsLeft: Double? {
    guard counts.open > 0, queue?.name == .working else { return nil }
    return counts.rate.map { Double(counts.open) / $0 }
  }

  /// How long the rest takes; nil where nothing is left, a question mark where nothing ended lately, and why jobs are not
  /// run.
  var shownTimeLeft: String? {
    guard counts.open > 0 else { return nil }
    if let queue, queue.name != .working { return queue.words }
    return secondsLeft.map { Moment.age($0.rounded(.up)) } ?? "?"
  }
}

/// Some batches, the newest first.
struct BatchList: Sendable, Equatable {
  /// The batches.
  let batches: [BatchStatus]
  /// Before which batch the list goes on; nil at its end.
  let next: BatchID?
  /// Whether the search ended before there were as many as were asked for.
  let isCutShort: Bool

  /// A list with its parts.
  init(batches: [BatchStatus], next: BatchID?, isCutShort: Bool) {
    self.batches = batches
    self.next = next
    self.isCutShort = isCutShort
  }
}

/// How many jobs a batch has, and how they ended.
struct BatchCounts: Sendable, Equatable, Decodable {
  /// All of them.
  var jobs = 0
  /// Those with an analysis.
  var succeeded = 0
  /// Those that are dead.
  var dead = 0
  /// Those that were cancelled.
  var cancelled = 0
  /// Those that ended in the last minute.
  var lately = 0
  /// When the last one ended, in seconds since 1970; nil where none has.
  var lastAt: Double?

  /// Counts with their parts.
  init(
    jobs: Int = 0, succeeded: Int = 0, dead: Int = 0, cancelled: Int = 0, lately: Int = 0,
    lastAt: Double? = nil
  ) {
    self.jobs = jobs
    self.succeeded = succeeded
    self.dead = dead
    self.cancelled = cancelled
    self.lately = lately
    self.lastAt = lastAt
  }

  /// Those that have ended, however.
  var ended: Int { succeeded + dead + cancelled }
  /// Those that have not.
  var open: Int { jobs - ended }
  /// How many end in a second, by the last minute; nil where none did.
  var rate: Double? { lately > 0 ? Double(lately) / 60 : nil }

  mutating func add(_ other: BatchCounts) {
    jobs += other.jobs
    succeeded += other.succeeded
    dead += other.dead
    cancelled += other.cancelled
    lately += other.lately
    lastAt = [lastAt, other.lastAt].compactMap { $0 }.max()
  }

  /// Asks one shard.
  static func statement(of batches: [BatchID], shard: Int16) -> Statement<[OfBatch]> {
    Statement(
      SQLFunction("batch_counts", 2), [.int16(shard), .array(batches.map(\.value))], as: [OfBatch].self,
      while: "counting the jobs of batches")
  }

  /// The counts of one shard.
  struct OfBatch: Decodable {
    let batch: BatchID
    let counts: BatchCounts
  }
}

/// Why jobs of a batch are dead.
struct BatchCause: Sendable, Equatable, RenamedColumns {
  static let columns = ["failureClass": "class", "lastJob": "job"]

  /// The class of failure, as it is stored.
  let failureClass: String
  /// The endpoint's code.
  let code: String?
  /// How many died of it.
  var count: Int
  /// The last of them.
  var lastJob: JobID

  /// Asks one shard.
  static func statement(of batch: BatchID, shard: Int16, limit: Int) -> Statement<[BatchCause]> {
    Statement(
      SQLFunction("batch_causes", 3), [.int16(shard), .int64(batch.value), .int32(Int32(clamping: limit))],
      as: [BatchCause].self, while: "reading why jobs died")
  }
}
