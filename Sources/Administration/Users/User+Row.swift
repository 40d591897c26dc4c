import AnalysisCore
import JobQueue
import PostgreSQL

extension UserDetail {
  /// Reads a row of `sql/users/show.sql`.
  init(
    _ row: Row, reference: String, shard: Int16, clinic: String?, planHistory: [PlanEntry], profile: Profile?
  ) throws {
    self.init(
      reference: reference, shard: shard, userID: try row.int64(0), zone: try row.string(1), clinic: clinic,
      createdAt: try row.double(2), plan: try row.stringIfPresent(3),
      planDisplayName: try row.stringIfPresent(4),
      planHistory: planHistory, period: try row.period(6), limit: try row.int32IfPresent(5).map(Int.init),
      used: try row.int(7), refunded: try row.int(8), refused: try row.int(9), analysed: try row.int(10),
      profile: profile)
  }
}

extension UserSummary {
  /// Reads a row of `sql/users/list.sql`.
  init(_ row: Row) throws {
    self.init(
      reference: try row.string(0), zone: try row.string(1), plan: try row.stringIfPresent(2),
      limit: try row.int32IfPresent(3).map(Int.init), used: try row.int(4), period: try row.period(5))
  }
}

extension Profile {
  /// Reads a row of `sql/users/profile.sql`.
  init(_ row: Row) throws {
    self.init(
      name: try row.stringIfPresent(0), email: try row.stringIfPresent(1),
      backendSubscription: try row.stringIfPresent(2), backendCount: try row.int32IfPresent(3).map(Int.init),
      lastReset: try row.doubleIfPresent(4), updatedAt: try row.double(5),
      photoURL: try row.stringIfPresent(6))
  }
}
