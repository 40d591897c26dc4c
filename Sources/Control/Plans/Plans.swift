import CommandLineTool
import FoundationEssentials
import Support

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
      return try session.show(PlansResponse(plans: try await PlanDirectory(session.database).list()))
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

enum PlansAddCommand {
  static let plan = Argument(
    "plan", .string, help: "Its name among programs: small letters, digits, _ and -.")
  static let name = Option<String?>("name", .string, help: "Its name among people; the same unless given.")
  static let cost = Option(
    "cost", .int(in: 1...1_000_000), default: 1000,
    help: "How far a job moves its user back in the line: at 2000 a user gets half as much of the workers.")

  static let command = ControlCommand(
    "add", abstract: "Add a plan.",
    discussion: """
      It is there from now on, and can be given to nobody for a time before. A plan that is there already is left as \
      it is, and the exit code is 5.
      """,
    examples: [
      Example("analysisctl plans add pro 200 --name Professional", "200 analyses a month."),
      Example("analysisctl plans add partner unlimited --cost 2000", "Any number, at half the pace."),
    ],
    inputs: [name, cost, ReasonOption.reason, plan, PlansSetLimitCommand.limit],
    exitCodes: [.done, .nothingToDo, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let plan = try context[plan]
    let (name, limit, cost) = (
      try context[name] ?? plan, try context[PlansSetLimitCommand.limit], try context[cost]
    )
    return try await context.withSession { session in
      let isNew = try await PlanDirectory(session.database).add(
        plan, displayName: name, limit: limit.analyses, cost: Int64(cost), by: session.actor)
      return try session.show(
        ["plan": .string(plan), "created": .bool(isNew)],
        isNew ? "added plan \(printable(plan))\n" : "plan \(printable(plan)) is there already\n",
        isNew ? .done : .nothingToDo)
    }
  }
}

enum PlansSetLimitCommand {
  static let plan = Argument("plan", .string, help: "The plan's name.")
  static let limit = Argument("limit", .monthlyLimit, help: "Analyses a month, or unlimited.")
  static let from = Option<Date?>("from", .time, help: "From when it holds; from now on unless given.")

  static let command = ControlCommand(
    "set-limit", abstract: "Set how many analyses a month a plan allows.",
    examples: [
      Example("analysisctl plans set-limit free 2", "From now on."),
      Example("analysisctl plans set-limit premium unlimited", "As many as one likes."),
    ],
    inputs: [from, ReasonOption.reason, plan, limit],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (plan, limit) = (try context[plan], try context[limit])
    let from = try context[from]?.timeIntervalSince1970
    return try await context.withSession { session in
      let directory = PlanDirectory(session.database)
      try await directory.setLimit(plan: plan, limit: limit.analyses, from: from, by: session.actor)
      return try session.show(PlansResponse(plans: try await directory.list()))
    }
  }
}

/// A plan's limit as it is typed.
struct MonthlyLimit: Sendable, Equatable {
  /// Nil for as many as one likes.
  let analyses: Int?
}

extension ValueFormat where Value == MonthlyLimit {
  /// A whole number, or `unlimited`.
  static var monthlyLimit: Self {
    ValueFormat(
      name: "N|unlimited", completion: .words(["unlimited"]),
      parse: { (given: String) throws(ValueError) -> MonthlyLimit in
        if given == "unlimited" { return MonthlyLimit(analyses: nil) }
        guard let limit = try? ValueFormat<Int>.int(in: 0...Int(Int32.max)).parse(given) else {
          throw ValueError("is neither a number of analyses nor unlimited")
        }
        return MonthlyLimit(analyses: limit)
      },
      text: { $0.analyses.map(String.init) ?? "unlimited" })
  }
}

enum PlansSetPriceCommand {
  static let plan = Argument("plan", .string, help: "The plan's name.")
  static let price = Argument("price", .decimal, help: "What one analysis costs, for instance 0.50.")
  static let currency = Argument(
    "currency", .string, help: "Its three letters in ISO 4217, for instance EUR.")
  static let from = Option<String?>(
    "from", .day,
    help: "It holds from that day's midnight on by each user's clocks. A plan's first price needs none: "
      + "it holds from the beginning.")
  static let replace = Flag("replace", help: "Replace a price that begins on the same day.")

  static let command = ControlCommand(
    "set-price", abstract: "Set what one analysis costs under a plan.",
    discussion: """
      A month's statement multiplies units by the price that held when each was taken; it has no base fee, no share \
      of a month and no tax. A closed month keeps the prices that it was closed with, so a price cannot begin in one.
      """,
    examples: [
      Example("analysisctl plans set-price free 0 EUR", "The first price, from the beginning."),
      Example("analysisctl plans set-price premium 0.45 EUR --from 2026-12-01", "From December on."),
      Example(
        "analysisctl plans set-price premium 0.40 EUR --from 2026-12-01 --replace", "Correct it before then."),
    ],
    inputs: [from, replace, ReasonOption.reason, plan, price, currency],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (plan, price, currency) = (try context[plan], try context[price], try context[currency])
    let (from, replaces) = (try context[from], try context[replace])
    return try await context.withSession { session in
      let directory = PlanDirectory(session.database)
      try await directory.setPrice(
        plan: plan, price, currency, from: from, replaces: replaces, by: session.actor)
      return try session.show(PlansResponse(plans: try await directory.list()))
    }
  }
}

extension ValueFormat where Value == DecimalText {
  /// A decimal number that is not below 0, for instance `0.50`.
  fileprivate static var decimal: Self {
    ValueFormat(
      name: "DECIMAL",
      parse: { (given: String) throws(ValueError) -> DecimalText in
        guard let number = DecimalText(given), !given.hasPrefix("-") else {
          throw ValueError("is not a price; write digits with a point, for example 0.50")
        }
        return number
      },
      text: \.description)
  }
}
