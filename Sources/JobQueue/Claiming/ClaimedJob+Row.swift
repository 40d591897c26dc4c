import AnalysisCore
import PostgreSQL

extension ClaimedJob {
  /// Reads a row of `sql/queue/claim.sql`.
  init(_ row: Row, shard: Int16) throws {
    self.init(
      shard: shard, batch: try row.int64(0), lane: try row.lane(1), id: try row.jobID(2),
      period: try row.period(3), attempt: try row.int(4), maxAttempts: try row.int(13),
      virtualTime: try row.int64(5), userID: try row.int64(6), kind: try row.kind(7),
      image: ImageKey(period: try row.period(8), id: try row.int64(9)), imageBytes: try row.int(10),
      isRaw: try row.bool(11), isExpired: try row.bool(12))
  }
}

extension ClaimedBatch {
  /// Puts jobs together that have a batch in common, in the order in which the batches first appear. A row without a
  /// job says that cancelled jobs were dropped in its lane.
  static func batches(of rows: some Sequence<Row>, shard: Int16) throws -> [ClaimedBatch] {
    var batches: [ClaimedBatch] = []
    var places: [Int64: Int] = [:]
    for row in rows {
      guard try row.int64IfPresent(2) != nil else {
        batches.append(
          ClaimedBatch(
            shard: shard, id: 0, lane: try row.lane(1), jobs: [], continueFrom: try row.int64(5)))
        continue
      }
      let job = try ClaimedJob(row, shard: shard)
      if let place = places[job.batch] {
        batches[place].jobs.append(job)
      } else {
        places[job.batch] = batches.count
        batches.append(ClaimedBatch(shard: job.shard, id: job.batch, lane: job.lane, jobs: [job]))
      }
    }
    return batches
  }
}
