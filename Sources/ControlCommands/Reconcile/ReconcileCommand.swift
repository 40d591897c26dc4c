import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import PostgreSQL

/// `analysisctl reconcile`.
enum ReconcileCommand {
  static let month = Option<MonthChoice?>(
    "month", .monthChoice, help: "Only this month: YYYY-MM, current or previous; every month unless given.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "reconcile", abstract: "Recount everybody's use from the jobs themselves.",
      discussion: """
        Every counter must be the analyses of the user's month, the jobs that are still open, and the refunds that \
        are not settled. Every job must have ended, or wait, be scheduled or run. A difference and a job that is \
        lost are listed, and the exit code is 1.
        """,
      examples: [
        Example("analysisctl reconcile", "Every month."),
        Example("analysisctl reconcile --month previous", "Before the bills go out."),
      ],
      inputs: [month], exitCodes: [.done, .jobFailed, .usage, .unreachable, .tryLater]
    ) { context in
      let month = try context.values[month]
      return try await context.withSession(dependencies) { session in
        let response = try await ReconcileInteractor(database: session.database).answer(month)
        try session.view.show(response, by: ReconcilePresenter.self)
        return response.isSound ? .done : .jobFailed
      }
    }
  }
}

/// Where counters and jobs disagree, and which jobs are lost.
struct ReconcileResponse: Sendable, Equatable {
  /// Nil for every month.
  let month: Period?
  let differences: [UsageDifference]
  let lost: LostJobs

  var isSound: Bool { differences.isEmpty && lost.count == 0 }
}

/// Recounts.
struct ReconcileInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ choice: MonthChoice?) async throws -> ReconcileResponse {
    var month: Period?
    if let choice { month = try await MonthResolver(database: database).period(choice) }
    let differences = try await Reconciliation.run(database, month: month)
    let lost = try await Reconciliation.lostJobs(database, month: month)
    return ReconcileResponse(month: month, differences: differences, lost: lost)
  }
}

/// Shows differences.
enum ReconcilePresenter: Presenter {
  static func json(_ response: ReconcileResponse) -> JSONValue {
    [
      "month": .month(response.month), "agrees": .bool(response.isSound),
      "differences": .array(
        response.differences.map { difference in
          [
            "user": .string(difference.user), "shard": .count(difference.shard),
            "month": .month(difference.period), "used": .count(difference.used),
            "pending_refunds": .count(difference.pendingRefunds), "analysed": .count(difference.analysed),
            "open": .count(difference.open), "difference": .count(difference.difference),
          ]
        }),
      "lost": .count(response.lost.count),
      "lost_jobs": .array(
        response.lost.first.map { job in
          [
            "job": .id(job.id), "user": .string(job.user), "shard": .count(job.shard),
            "month": .month(job.period), "created_at": .time(job.createdAt),
          ]
        }),
    ]
  }

  static func text(_ response: ReconcileResponse, width: Int?, paint: Paint) -> String {
    let scope = response.month.map { "of \($0)" } ?? "of every month"
    return differences(response.differences, scope, width, paint) + lost(response.lost, width, paint)
  }

  private static func differences(
    _ differences: [UsageDifference], _ scope: String, _ width: Int?, _ paint: Paint
  ) -> String {
    guard !differences.isEmpty else { return "The counters \(scope) agree with the jobs.\n" }
    var table = Table([
      .init("USER", shrinks: true), .init("MONTH"), .init("COUNTER", alignment: .right),
      .init("REFUNDS", alignment: .right), .init("ANALYSED", alignment: .right),
      .init("OPEN", alignment: .right), .init("DIFFERENCE", alignment: .right),
    ])
    for difference in differences {
      table.add([
        Cell(difference.user), Cell(difference.period.description), Cell(difference.used),
        Cell(difference.pendingRefunds), Cell(difference.analysed), Cell(difference.open),
        Cell(difference.difference, .red),
      ])
    }
    return "The counters \(scope) do not agree with the jobs:\n" + table.render(width: width, paint: paint)
  }
  private static func lost(_ lost: LostJobs, _ width: Int?, _ paint: Paint) -> String {
    guard let first = lost.first.first else { return "" }
    var table = Table([
      .init("JOB", alignment: .right), .init("USER", shrinks: true), .init("MONTH"), .init("SUBMITTED"),
    ])
    for job in lost.first {
      table.add([
        Cell(job.id.description, .red), Cell(job.user), Cell(job.period.description),
        Cell(Moment.short(job.createdAt)),
      ])
    }
    let named = lost.count > lost.first.count ? "; the first \(lost.first.count) are named" : ""
    return """
      \(lost.count == 1 ? "1 job is" : "\(lost.count) jobs are") in no table of the queue, and no worker finds \
      what is lost so\(named):
      \(table.render(width: width, paint: paint))\
      Cancel what is lost, which gives the units back, and submit the pictures again: analysisctl jobs cancel \
      \(first.id)\(lost.count > 1 ? " ..." : "")

      """
  }
}
