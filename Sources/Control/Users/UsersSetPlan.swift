import CommandLineTool
import FoundationEssentials

/// `analysisctl users set-plan`.
enum UsersSetPlanCommand {
  static let plan = Argument("plan", .string, help: "The plan's name; see analysisctl plans.")
  static let from = Option<Date?>("from", .time, help: "From when it holds; from now on unless given.")

  static let command = ControlCommand(
    "set-plan", abstract: "Give a user a plan.",
    discussion:
      "The plan that holds when a job may run decides its limit; what is used already stays used.",
    examples: [
      Example("analysisctl users set-plan u1 premium", "From now on."),
      Example("analysisctl users set-plan u1 free --from 2026-12-01T00:00:00+07:00", "From a moment on."),
    ],
    inputs: [from, ReasonOption.reason, UsersCommand.user, plan],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, plan) = (try context[UsersCommand.user], try context[plan])
    let from = try context[from]?.timeIntervalSince1970
    return try await context.withSession { session in
      try await UserDirectory(session.database).setPlan(user, plan: plan, from: from, by: session.actor)
      try session.view.show(UsersSetResponse(user: user, name: "plan", value: plan, from: from))
      return .done
    }
  }
}
