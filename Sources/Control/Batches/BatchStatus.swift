import PostgreSQL
import Queue
import Support

/// A batch and how far it is.
struct BatchStatus: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "batch"]

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
  let batches: [BatchStatus]
  /// Before which batch the list goes on; nil at its end.
  let next: BatchID?
  /// Whether the search ended before there were as many as were asked for.
  let isCutShort: Bool
}

/// How many jobs a batch has, and how they ended.
struct BatchCounts: Sendable, Equatable, Decodable {
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
  let code: String?
  /// How many died of it.
  var count: Int
  /// The last of them.
  var lastJob: JobID

  static func statement(of batch: BatchID, shard: Int16, limit: Int) -> Statement<[BatchCause]> {
    Statement(
      SQLFunction("batch_causes", 3), [.int16(shard), .int64(batch.value), .int32(Int32(clamping: limit))],
      as: [BatchCause].self, while: "reading why jobs died")
  }
}

/// The batches that the login may see: a back-end its own, an operator and a clinician all.
struct BatchDirectory: Sendable {
  /// How many labels of jobs a list looks at for a login that is restricted to clinics.
  static let looks = 20_000

  private let database: ConnectionPool
  private let shards: ShardDirectory

  /// The batches of a database.
  ///
  /// - Parameter shards: its shards; nil to ask for them each time.
  init(_ database: ConnectionPool, shards: [Int16]? = nil) {
    self.database = database
    self.shards = ShardDirectory(database, shards: shards)
  }

  /// Batches with their counts, the newest first.
  ///
  /// A list may be shorter than `limit`, or empty, and still go on: when a login that is restricted to clinics sees
  /// few of many batches.
  ///
  /// - Parameters:
  ///   - before: only those that were made before this one; nil for the newest.
  ///   - limit: how many at most; 1,000 if it is more.
  func list(before: BatchID? = nil, limit: Int = 20) async throws(JobQueueError) -> BatchList {
    let wanted = min(max(1, limit), Self.most)
    // One more tells that the list is not the last, as far as a call answers so many.
    let asked = min(wanted + 1, Self.most)
    let (heads, end) = try await heads(nil, before: before, limit: asked)
    let shown = Array(heads.prefix(wanted))
    let isFull = heads.count == asked
    return BatchList(
      batches: try await counted(shown), next: isFull ? shown.last?.id : end,
      isCutShort: !isFull && end != nil)
  }

  /// A batch with its counts; nil where there is none that the login may see.
  func status(of batch: BatchID) async throws(JobQueueError) -> BatchStatus? {
    try await counted(heads(batch, before: nil, limit: 1).batches).first
  }

  /// The counts of a batch anew, without asking again who made it.
  func refreshed(_ status: BatchStatus) async throws(JobQueueError) -> BatchStatus {
    try await counted([status]).first ?? status
  }

  /// Why jobs of a batch are dead, the most frequent cause first.
  func causes(of batch: BatchID, limit: Int = 20) async throws(JobQueueError) -> [BatchCause] {
    let parts = try await database.run(
      shards.shards().map { BatchCause.statement(of: batch, shard: $0, limit: limit) })
    var causes: [BatchCause] = []
    for cause in parts.joined() {
      if let index = causes.firstIndex(where: {
        $0.failureClass == cause.failureClass && $0.code == cause.code
      }) {
        causes[index].count += cause.count
        causes[index].lastJob = max(causes[index].lastJob, cause.lastJob)
      } else {
        causes.append(cause)
      }
    }
    return Array(
      causes.sorted {
        ($1.count, $0.failureClass, $0.code ?? "") < ($0.count, $1.failureClass, $1.code ?? "")
      }
      .prefix(limit))
  }

  /// How many batches one call answers.
  private static let most = 1000

  /// Batches without their counts, and the last one that was looked at, if the search ended there.
  private func heads(
    _ batch: BatchID?, before: BatchID?, limit: Int
  ) async throws(JobQueueError) -> (batches: [BatchStatus], end: BatchID?) {
    let found = try await Statement(
      SQLFunction("list_batches", 4),
      [
        .int64(batch?.value), .int64(before?.value), .int32(Int32(clamping: limit)),
        .int32(Int32(clamping: Self.looks)),
      ],
      as: [Found<BatchStatus, BatchEnd>].self, beside: ["counts": BatchCounts(), "queue": nil],
      while: "reading the batches"
    ).run(on: database)
    return (found.compactMap(\.item), found.compactMap(\.end).last?.batch)
  }

  private struct BatchEnd: Decodable {
    let batch: BatchID
  }

  /// The batches with what all shards have of them.
  private func counted(_ heads: [BatchStatus]) async throws(JobQueueError) -> [BatchStatus] {
    guard !heads.isEmpty else { return [] }
    let parts = try await database.run(
      shards.shards().map { BatchCounts.statement(of: heads.map(\.id), shard: $0) })
    var counts: [BatchID: BatchCounts] = [:]
    for part in parts.joined() { counts[part.batch, default: BatchCounts()].add(part.counts) }
    let isOpen = counts.values.contains { $0.open > 0 }
    let queue = isOpen ? try await QueueState.statement.run(on: database) : nil
    return heads.map { head in
      var status = head
      status.counts = counts[head.id] ?? BatchCounts()
      status.queue = status.counts.open > 0 ? queue : nil
      return status
    }
  }
}
