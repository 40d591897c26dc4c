import CommandLineTool
import Support

/// `analysisctl plans add`.
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
      try session.view.show(PlansAddResponse(plan: plan, isNew: isNew))
      return isNew ? .done : .nothingToDo
    }
  }
}

/// A plan that was asked to be added.
struct PlansAddResponse: Sendable, Equatable, Presentable {
  let plan: String
  let isNew: Bool

  var json: JSONValue { ["plan": .string(plan), "created": .bool(isNew)] }

  func text(width: Int?, paint: Paint) -> String {
    isNew ? "added plan \(printable(plan))\n" : "plan \(printable(plan)) is there already\n"
  }
}
