import CommandLineTool
import FoundationEssentials

/// `analysisctl plans set-limit`.
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
      try session.view.show(PlansResponse(plans: try await directory.list()))
      return .done
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
