import PostgreSQL
import Queue
import Support

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
