import CommandLineTool
import Support

/// `analysisctl plans`.
enum PlansCommand {
  static let command = ControlCommand(
    "plans", abstract: "Show the plans, add one, and set monthly limits and prices.",
    examples: [
      Example("analysisctl plans", "The plans with their limits and prices."),
      Example("analysisctl plans add pro 200 --name Professional", "A new plan."),
      Example("analysisctl plans set-price pro 0.50 EUR --from 2026-12-01", "What an analysis costs."),
      Example(
        "analysisctl plans set-limit free 2 --from 2026-12-01T00:00:00Z", "A new limit from a moment on."),
    ],
    subcommands: [
      list, PlansAddCommand.command, PlansSetLimitCommand.command, PlansSetPriceCommand.command,
    ],
    exitCodes: [.done, .usage, .unreachable, .tryLater]
  ) { context in
    try await show(context)
  }

  private static let list = ControlCommand(
    "list", abstract: "Show the plans, as plans alone does.",
    examples: [Example("analysisctl plans list --json", "For a program.")],
    exitCodes: [.done, .usage, .unreachable, .tryLater]
  ) { context in
    try await show(context)
  }

  private static func show(_ context: ControlContext) async throws -> ExitCode {
    try await context.withSession { session in
      try session.view.show(PlansResponse(plans: try await PlanDirectory(session.database).list()))
      return .done
    }
  }
}

/// The plans with their limits.
struct PlansResponse: Presentable {
  let plans: [Plan]

  var json: JSONValue {
    [
      "plans": .array(
        plans.map { plan in
          [
            "plan": .string(plan.name), "name": .string(plan.displayName), "cost": .integer(plan.cost),
            "limit": .count(plan.current?.monthly),
            "unlimited": .bool(plan.current.map { $0.monthly == nil } ?? false),
            "limits": .array(plan.limits.map(Self.json(of:))),
            "prices": .array(plan.prices.map(Self.json(of:))),
          ]
        })
    ]
  }

  private static func json(of limit: Plan.Limit) -> JSONValue {
    [
      "from": .time(limit.from), "limit": .count(limit.monthly), "unlimited": .bool(limit.monthly == nil),
      "in_force": .bool(limit.isInForce),
    ]
  }

  private static func json(of price: Plan.Price) -> JSONValue {
    [
      "from": .text(price.from), "price": .string(price.amount.description),
      "currency": .string(price.currency), "in_force": .bool(price.isInForce),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let limits = limitTable.render(width: width, paint: paint)
    guard plans.contains(where: { !$0.prices.isEmpty }) else { return limits }
    return limits + "\n" + priceTable.render(width: width, paint: paint)
  }

  private var priceTable: Table {
    var table = Table([
      .init("PLAN", wraps: true), .init("PRICE OF ONE", alignment: .right), .init("FROM"), .init("IN FORCE"),
    ])
    for plan in plans {
      for price in plan.prices {
        table.add([
          Cell(plan.name), Cell("\(price.amount) \(price.currency)"), Cell(price.from ?? "the beginning"),
          price.isInForce ? Cell("yes", .green) : Cell("no", .dim),
        ])
      }
    }
    return table
  }

  private var limitTable: Table {
    var table = Table([
      .init("PLAN", wraps: true), .init("NAME", shrinks: true), .init("LIMIT A MONTH", alignment: .right),
      .init("FROM"),
      .init("IN FORCE"),
    ])
    for plan in plans {
      if plan.limits.isEmpty { table.add([Cell(plan.name), Cell(plan.displayName), "none yet"]) }
      for limit in plan.limits {
        table.add([
          Cell(plan.name), Cell(plan.displayName), Cell(limit.monthly.map(String.init) ?? "unlimited"),
          Cell(limit.from.map { Moment.short($0) } ?? "the beginning"),
          limit.isInForce ? Cell("yes", .green) : Cell("no", .dim),
        ])
      }
    }
    return table
  }
}
