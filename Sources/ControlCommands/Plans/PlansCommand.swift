import Administration
import CommandLineTool
import FoundationEssentials
import JobQueue

/// `analysisctl plans`.
enum PlansCommand {
  static let plan = Argument("plan", .string, help: "The plan's name.")
  static let limit = Argument("limit", .monthlyLimit, help: "Analyses a month, or unlimited.")
  static let from = Option<Date?>("from", .time, help: "From when it holds; from now on unless given.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "plans", abstract: "Show the plans, and set their monthly limits.",
      examples: [
        Example("analysisctl plans", "The plans and their limits."),
        Example(
          "analysisctl plans set-limit free 2 --from 2026-12-01T00:00:00Z", "A new limit from a moment on."),
      ],
      subcommands: [list(dependencies), setLimit(dependencies)],
      exitCodes: [.done, .usage, .unreachable, .tryLater]
    ) { context in
      try await show(context, dependencies)
    }
  }

  private static func list(_ dependencies: Dependencies) -> Command {
    Command(
      "list", abstract: "Show the plans, as plans alone does.",
      examples: [Example("analysisctl plans list --json", "For a program.")],
      exitCodes: [.done, .usage, .unreachable, .tryLater]
    ) { context in
      try await show(context, dependencies)
    }
  }

  private static func show(_ context: Context, _ dependencies: Dependencies) async throws -> ExitCode {
    try await context.withSession(dependencies) { session in
      try session.view.show(try await PlanDirectory(session.database).list(), by: PlansPresenter.self)
      return .done
    }
  }

  private static func setLimit(_ dependencies: Dependencies) -> Command {
    Command(
      "set-limit", abstract: "Set how many analyses a month a plan allows.",
      examples: [
        Example("analysisctl plans set-limit free 2", "From now on."),
        Example("analysisctl plans set-limit premium unlimited", "As many as one likes."),
      ],
      inputs: [from, ReasonOption.reason, plan, limit],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
    ) { context in
      let (plan, limit) = (try context.values[plan], try context.values[limit])
      let from = try context.values[from]?.timeIntervalSince1970
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        let directory = PlanDirectory(session.database)
        try await directory.setLimit(
          plan: plan, limit: limit.analyses, from: from, by: session.actor(reason))
        try session.view.show(try await directory.list(), by: PlansPresenter.self)
        return .done
      }
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
