public import JobQueue
public import PostgreSQL

/// A plan, and how many analyses a month it allows from when on.
public struct Plan: Sendable, Equatable {
  /// A monthly limit and the time from which it holds.
  public struct Limit: Sendable, Equatable {
    /// From when, in seconds since 1970; nil: from the beginning.
    public let from: Double?
    /// Analyses a month; nil for as many as one likes.
    public let monthly: Int?
    /// Whether it is the one in force now.
    public let isInForce: Bool
  }

  /// The plan's name among programs.
  public let name: String
  /// The plan's name among people.
  public let displayName: String
  /// How far each job moves its user back in the line; more for a plan that is to get less of the workers.
  public let cost: Int64
  /// The limits, the oldest first.
  public internal(set) var limits: [Limit]

  /// The limit in force now; nil when the plan has none yet, and then nothing is allowed.
  public var current: Limit? { limits.first { $0.isInForce } }
}

/// The plans.
public struct PlanDirectory: Sendable {
  private let database: ConnectionPool

  /// The plans of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Every plan with its limits.
  public func list() async throws(JobQueueError) -> [Plan] {
    try await Statement(QueueSQL.text("users/plans.sql"), [], while: "listing the plans") { rows in
      var plans: [Plan] = []
      for row in rows {
        let name = try row.string(0)
        if plans.last?.name != name {
          plans.append(
            Plan(name: name, displayName: try row.string(1), cost: try row.int64(2), limits: []))
        }
        guard try row.bool(5) else { continue }
        plans[plans.count - 1].limits.append(
          Plan.Limit(
            from: try row.doubleIfPresent(3), monthly: try row.int32IfPresent(4).map(Int.init),
            isInForce: try row.boolIfPresent(6) ?? false))
      }
      return plans
    }.run(on: database)
  }

  /// Gives a plan a monthly limit from a time on.
  ///
  /// - Parameters:
  ///   - limit: analyses a month; nil for as many as one likes.
  ///   - from: seconds since 1970; nil for now.
  ///   - actor: who does it, for the audit; nil for what the server knows itself.
  /// - Throws: `notFound` for an unknown plan, `invalid` for a negative limit.
  public func setLimit(
    plan: String, limit: Int?, from: Double? = nil, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    if let limit, limit < 0 || limit > Int(Int32.max) {
      throw JobQueueError(.invalid, "A monthly limit must be from 0 to \(Int32.max).")
    }
    let plans = try await list()
    guard plans.contains(where: { $0.name == plan }) else {
      throw JobQueueError(
        .notFound, "There is no plan \(plan).",
        advice: "The plans are \(plans.map(\.name).joined(separator: ", ")).")
    }
    try await Statement(
      "SELECT analysis.set_plan_limit($1, $2, $3)",
      [.text(plan), .int32(limit.map { Int32(clamping: $0) }), .timestamp(timestamp(from))],
      while: "setting the limit of plan \(plan)"
    ) { _ in
    }.run(on: database, as: actor)
  }
}
