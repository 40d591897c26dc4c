import AnalysisCore
import CommandLineTool
import JobQueue
import PostgreSQL

/// `analysisctl reconcile`.
enum ReconcileCommand {
  static let month = Option<MonthChoice?>(
    "month", .monthChoice, help: "Only this month: YYYY-MM, current or previous; every month unless given.")

  static func command(_ surroundings: Surroundings) -> Command {
    Command(
      "reconcile", abstract: "Recount everybody's use from the jobs themselves.",
      discussion: """
        Every counter must be the analyses of the user's month, the jobs that are still open, and the refunds that \
        are not settled. A difference is listed, and the exit code is 1.
        """,
      examples: [
        Example("analysisctl reconcile", "Every month."),
        Example("analysisctl reconcile --month previous", "Before the bills go out."),
      ],
      inputs: [month], exitCodes: [.done, .jobFailed, .usage, .unreachable, .tryLater]
    ) { context in
      let month = try context.values[month]
      return try await context.withSession(surroundings) { session in
        let response = try await ReconcileInteractor(database: session.database).answer(month)
        try session.view.show(response, by: ReconcilePresenter.self)
        return response.differences.isEmpty ? .done : .jobFailed
      }
    }
  }
}

/// Where counters and jobs disagree.
struct ReconcileResponse: Sendable, Equatable {
  /// Nil for every month.
  let month: Period?
  let differences: [UsageDifference]
}

/// Recounts.
struct ReconcileInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ choice: MonthChoice?) async throws -> ReconcileResponse {
    var month: Period?
    if let choice { month = try await MonthResolver(database: database).period(choice) }
    let differences = try await Reconciliation.run(database, month: month)
    return ReconcileResponse(month: month, differences: differences)
  }
}

/// Shows differences.
enum ReconcilePresenter: Presenter {
  static func json(_ response: ReconcileResponse) -> JSONValue {
    [
      "month": .month(response.month), "agrees": .bool(response.differences.isEmpty),
      "differences": .array(
        response.differences.map { difference in
          [
            "user": .string(difference.user), "shard": .count(difference.shard),
            "month": .month(difference.period), "used": .count(difference.used),
            "pending_refunds": .count(difference.pendingRefunds), "analysed": .count(difference.analysed),
            "open": .count(difference.open), "difference": .count(difference.difference),
          ]
        }),
    ]
  }

  static func text(_ response: ReconcileResponse, width: Int?, paint: Paint) -> String {
    let scope = response.month.map { "of \($0)" } ?? "of every month"
    guard !response.differences.isEmpty else { return "The counters \(scope) agree with the jobs.\n" }
    var table = Table([
      .init("USER", shrinks: true), .init("MONTH"), .init("COUNTER", alignment: .right),
      .init("REFUNDS", alignment: .right), .init("ANALYSED", alignment: .right),
      .init("OPEN", alignment: .right), .init("DIFFERENCE", alignment: .right),
    ])
    for difference in response.differences {
      table.add([
        Cell(difference.user), Cell(difference.period.description), Cell(difference.used),
        Cell(difference.pendingRefunds), Cell(difference.analysed), Cell(difference.open),
        Cell(difference.difference, .red),
      ])
    }
    return "The counters \(scope) do not agree with the jobs:\n" + table.render(width: width, paint: paint)
  }
}
