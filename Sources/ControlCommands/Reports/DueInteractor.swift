import AnalysisCore
import CommandLineTool
import Formatting
import PostgreSQL
import Reports

/// Where the statements of the months go.
struct DueRequest: Sendable {
  var folder: String
  var zone: String?
  var excel = false
}

/// What became of each month that is over.
struct DueResponse: Sendable, Equatable {
  enum Outcome: Sendable, Equatable {
    case written(path: String, rows: Int, sha256: String?)
    /// The file was there already, byte for byte.
    case unchanged(path: String)
    /// The month's time of grace is not over, or the server cannot close it.
    case left
  }

  struct Line: Sendable, Equatable {
    let month: Period
    let outcome: Outcome
  }

  let lines: [Line]

  /// 0 if a file was written, 6 if none was and a month that is over had to be left, else 5.
  var exitCode: ExitCode {
    let isWritten = lines.contains { if case .written = $0.outcome { true } else { false } }
    if isWritten { return .done }
    return lines.contains { $0.outcome == .left } ? .jobsStillOpen : .nothingToDo
  }
}

/// Writes the statement of every month that can be closed.
struct DueInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ request: DueRequest) async throws -> DueResponse {
    guard InputFile.isFolder(request.folder) else {
      throw ControlError(.usage, "there is no folder \(printable(request.folder))")
    }
    let reporter = Reporter(database)
    var lines: [DueResponse.Line] = []
    for due in try await reporter.dueMonths() {
      let outcome = due.canBeStated ? try await write(due.month, request, reporter) : .left
      lines.append(.init(month: due.month, outcome: outcome))
    }
    return DueResponse(lines: lines)
  }

  private func write(
    _ month: Period, _ request: DueRequest, _ reporter: Reporter
  ) async throws -> DueResponse.Outcome {
    let path = FolderListing.join(request.folder, "usage-\(month).csv")
    let report = ReportRequest(.usage, month: month, zone: request.zone, format: .csv, excel: request.excel)
    let outcome = try await reporter.run(report, to: .file(path))
    return outcome.kind == .nothingToDo
      ? .unchanged(path: path) : .written(path: path, rows: outcome.rows, sha256: outcome.sha256)
  }
}
