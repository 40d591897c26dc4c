import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import Reports

/// Writes one report to standard output or a file. Interactor, presenter and view of its rows are the module
/// `Reports`' own; here is only where it goes and what is said of it.
struct ReportRun: Sendable {
  let session: ControlSession

  func answer(_ order: ReportArguments) async throws -> ExitCode {
    let month = try await MonthResolver(database: session.database).period(order.month)
    let request = ReportRequest(
      order.kind, month: month, zone: order.zone, format: order.format, excel: order.excel,
      width: order.out == nil ? session.view.width : nil)
    let console = session.console
    let bar = order.out.map { _ in ProgressBar("rows", total: nil, console: console) }
    defer { bar?.finish() }
    let outcome: ReportOutcome
    do {
      outcome = try await Reporter(session.database).run(
        request, to: destination(order), by: session.actor(order.reason).statement,
        detail: (["format": .string(order.format.rawValue), "file": .bool(order.out != nil)] as JSONValue)
          .json,
        progress: { rows in bar?.update(done: rows, total: nil) })
    } catch {
      // Whoever reads our output has read enough: that is said in its own way.
      throw error.underlying as? WriteError ?? error
    }
    bar?.finish()
    if let out = order.out { console.say(Self.sentence(outcome, month: month, file: out)) }
    if let since = outcome.removedSince {
      console.say(
        "Results of \(month) have been removed since \(Moment.short(since)), after the time for which they are kept "
          + "(keep_results); this report holds what is left of them.")
    }
    switch outcome.kind {
    case .written: return .done
    case .nothingToDo: return .nothingToDo
    case .openJobs:
      console.say("\(outcome.openJobs) jobs of \(month) are still open; this is a draft.")
      return .jobsStillOpen
    }
  }

  private func destination(_ order: ReportArguments) -> ReportDestination {
    if let out = order.out { return .file(out) }
    let console = session.console
    return .stream { chunk in try console.output.write(String(decoding: chunk, as: UTF8.self)) }
  }

  private static func sentence(_ outcome: ReportOutcome, month: Period, file: String) -> String {
    let facts =
      "\(outcome.rows) rows, \(outcome.state.rawValue)\(outcome.sha256.map { ", sha256 \($0)" } ?? "")"
    let done = outcome.kind == .nothingToDo ? "is there already" : "written"
    return "\(printable(file)) \(done): \(month), \(facts)"
  }
}
