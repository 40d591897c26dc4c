public import PostgreSQL
public import Queue
internal import Support

/// A plan, and how many analyses a month it allows from when on.
public struct Plan: Sendable, Equatable {
  /// A monthly limit and the time from which it holds.
  public struct Limit: Sendable, Equatable {
    /// From when, in seconds since 1970; nil: from the beginning.
    let from: Double?
    /// Analyses a month; nil for as many as one likes.
    let monthly: Int?
    /// Whether it is the one in force now.
    let isInForce: Bool
  }

  /// What one analysis costs, and the day from which it does.
  struct Price: Sendable, Equatable {
    /// From whose midnight on by each user's clocks, as `2026-10-01`; nil: from the beginning.
    let from: String?
    let amount: DecimalText
    /// By ISO 4217.
    let currency: String
    /// Whether it is the one in force today in the installation's zone.
    let isInForce: Bool
  }

  /// The plan's name among programs.
  public let name: String
  /// The plan's name among people.
  let displayName: String
  /// How far each job moves its user back in the line; more for a plan that is to get less of the workers.
  let cost: Int64
  /// The limits, the oldest first.
  var limits: [Limit]

  /// The prices, the oldest first; empty where an analysis costs nothing that is billed here.
  var prices: [Price]

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

  /// Every plan with its limits and prices.
  public func list() async throws(JobQueueError) -> [Plan] {
    var plans = try await limits()
    for (plan, price) in try await prices() {
      guard let index = plans.firstIndex(where: { $0.name == plan }) else { continue }
      plans[index].prices.append(price)
    }
    return plans
  }

  private struct PriceRow: Decodable {
    let plan, price, currency: String
    let from: String?
    let inForce: Bool
  }

  private func prices() async throws(JobQueueError) -> [(plan: String, Plan.Price)] {
    try await Statement(
      SQLFunction("list_plan_prices", 0), as: [PriceRow].self, while: "listing the plans' prices"
    ) { rows in
      try rows.map { row in
        guard let amount = DecimalText(row.price) else {
          throw JobQueueError(.unexpectedAnswer, "The database answered a price that is no number.")
        }
        return (
          row.plan, .init(from: row.from, amount: amount, currency: row.currency, isInForce: row.inForce)
        )
      }
    }.run(on: database)
  }

  /// A plan with one of its limits, if it has any.
  private struct LimitRow: Decodable {
    let plan, name: String
    let cost: Int64
    let hasLimit: Bool
    let from: Double?
    let limit: Int?
    let inForce: Bool?
  }

  private func limits() async throws(JobQueueError) -> [Plan] {
    try await Statement(
      SQLFunction("list_plans", 0), as: [LimitRow].self, while: "listing the plans"
    ) { rows in
      var plans: [Plan] = []
      for row in rows {
        if plans.last?.name != row.plan {
          plans.append(
            Plan(name: row.plan, displayName: row.name, cost: row.cost, limits: [], prices: []))
        }
        guard row.hasLimit else { continue }
        plans[plans.count - 1].limits.append(
          Plan.Limit(from: row.from, monthly: row.limit, isInForce: row.inForce ?? false))
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
    try await require(plan)
    try await Statement(
      SQLFunction("set_plan_limit", 3),
      [.text(plan), .int32(limit.map { Int32(clamping: $0) }), .timestamp(timestamp(from))],
      while: "setting the limit of plan \(plan)"
    ).run(on: database, as: actor)
  }

  /// Adds a plan, which is there from now on; false where one has its name already, which stays as it is.
  ///
  /// - Parameters:
  ///   - name: its name among programs: 1 to 60 small letters, digits, `_` and `-`.
  ///   - displayName: its name among people, of at most 100 characters.
  ///   - limit: analyses a month; nil for as many as one likes.
  ///   - cost: how far each job moves its user back in the line, from 1 to 1,000,000.
  /// - Throws: `badRow` for a name, limit or cost that cannot be.
  public func add(
    _ name: String, displayName: String, limit: Int?, cost: Int64, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("add_plan", 4),
      [.text(name), .text(displayName), .int32(limit.map { Int32(clamping: $0) }), .int64(cost)],
      as: Bool.self, while: "adding plan \(name)"
    ).run(on: database, as: actor)
  }

  /// Says what an analysis of a plan costs from a day on.
  ///
  /// - Parameters:
  ///   - currency: by ISO 4217, such as `EUR`.
  ///   - from: the day at whose midnight the price begins by each user's clocks, as `2026-10-01`; nil for the first
  ///     price of a plan, which holds from the beginning.
  ///   - replaces: whether a price that begins on that day is replaced.
  /// - Throws: `notFound` for an unknown plan; `badRow` for a currency or a day that is none, a day in a closed month or
  ///   before the plan was there, and a day on which another price begins.
  func setPrice(
    plan: String, _ price: DecimalText, _ currency: String, from: String?, replaces: Bool,
    by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    try await require(plan)
    try await Statement(
      SQLFunction("set_plan_price", 5),
      [.text(plan), .text(price.description), .text(currency), .text(from), .bool(replaces)],
      while: "setting the price of plan \(plan)"
    ).run(on: database, as: actor)
  }

  /// Throws `notFound`, with the names of those that there are, for a plan that is not there.
  private func require(_ plan: String) async throws(JobQueueError) {
    let plans = try await limits()
    guard plans.contains(where: { $0.name == plan }) else {
      throw JobQueueError(
        .notFound, "There is no plan \(plan).",
        advice: "The plans are \(plans.map(\.name).joined(separator: ", ")).")
    }
  }
}
