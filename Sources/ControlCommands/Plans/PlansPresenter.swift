import Administration
import CommandLineTool
import Formatting
import JobQueue

/// Shows plans with their limits.
enum PlansPresenter: Presenter {
  static func json(_ plans: [Plan]) -> JSONValue {
    [
      "plans": .array(
        plans.map { plan in
          [
            "plan": .string(plan.name), "name": .string(plan.displayName), "cost": .integer(plan.cost),
            "limit": .count(plan.current?.monthly),
            "unlimited": .bool(plan.current.map { $0.monthly == nil } ?? false),
            "limits": .array(plan.limits.map(json(of:))),
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

  static func text(_ plans: [Plan], width: Int?, paint: Paint) -> String {
    var table = Table([
      .init("PLAN"), .init("NAME", shrinks: true), .init("LIMIT A MONTH", alignment: .right), .init("FROM"),
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
    return table.render(width: width, paint: paint)
  }
}
