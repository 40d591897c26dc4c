import AnalysisCore
import PostgreSQL

extension ClaimedJob {
  /// Reads a row of `sql/queue/claim.sql`.
  init(_ row: Row, shard: Int16) throws {
    self.init(
      shard: shard, lease: try row.int64(0), lane: try row.lane(1), id: try row.jobID(2),
      period: try row.period(3), attempt: try row.int(4), maxAttempts: try row.int(13),
      virtualTime: try row.int64(5), userID: try row.int64(6), kind: try row.kind(7),
      image: ImageKey(period: try row.period(8), id: try row.int64(9)), imageBytes: try row.int(10),
      isUnsanitized: try row.bool(11), isExpired: try row.bool(12))
  }
}

extension ClaimedLease {
  /// Puts jobs together that have a lease in common, in the order in which the leases first appear. A row without a
  /// job says that cancelled jobs were dropped in its lane.
  static func leases(of rows: some Sequence<Row>, shard: Int16) throws -> [ClaimedLease] {
    var leases: [ClaimedLease] = []
    var places: [Int64: Int] = [:]
    for row in rows {
      guard try row.int64IfPresent(2) != nil else {
        leases.append(
          ClaimedLease(
            shard: shard, id: 0, lane: try row.lane(1), jobs: [], continueFrom: try row.int64(5)))
        continue
      }
      let job = try ClaimedJob(row, shard: shard)
      if let place = places[job.lease] {
        leases[place].jobs.append(job)
      } else {
        places[job.lease] = leases.count
        leases.append(ClaimedLease(shard: job.shard, id: job.lease, lane: job.lane, jobs: [job]))
      }
    }
    return leases
  }
}
