import AnalysisCore
import JobQueue
import PostgreSQL

extension UserDetail {
  /// Reads a row of `analysis.user_shown`.
  init(
    _ row: Row, reference: String, shard: Int16, planHistory: [PlanEntry], profile: Profile?
  ) throws {
    self.init(
      reference: reference, shard: shard, userID: try row.int64("o_user_id"), zone: try row.string("o_zone"),
      clinic: try row.stringIfPresent("o_clinic"), createdAt: try row.seconds("o_created_at"),
      plan: try row.stringIfPresent("o_plan"), planDisplayName: try row.stringIfPresent("o_plan_name"),
      planHistory: planHistory, period: try row.period("o_period"),
      limit: try row.int32IfPresent("o_limit").map(Int.init), used: try row.int("o_used"),
      refunded: try row.int("o_refunded"), refused: try row.int("o_refused"),
      analysed: try row.int("o_analysed"), profile: profile)
  }
}

extension UserSummary {
  /// Reads a row of `analysis.list_users`.
  init(_ row: Row) throws {
    self.init(
      reference: try row.string("o_user"), zone: try row.string("o_zone"),
      plan: try row.stringIfPresent("o_plan"),
      limit: try row.int32IfPresent("o_limit").map(Int.init), used: try row.int("o_used"),
      period: try row.period("o_period"))
  }
}

extension Profile {
  /// Reads a row of `analysis.profile_of`.
  init(_ row: Row) throws {
    self.init(
      name: try row.stringIfPresent("o_name"), email: try row.stringIfPresent("o_email"),
      backendSubscription: try row.stringIfPresent("o_subscription"),
      backendCount: try row.int32IfPresent("o_count").map(Int.init),
      lastReset: try row.secondsIfPresent("o_last_reset"), updatedAt: try row.seconds("o_updated_at"),
      photoURL: try row.stringIfPresent("o_photo_url"))
  }
}
