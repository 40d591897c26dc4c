import AnalysisCore
import CommandLineTool
import Formatting
import Reports

/// Writes the statement of every month that can be closed, as `report usage --due` asks.
struct DueStatements: Sendable {
  /// Where they go.
  let folder: String
  let zone: String?
  let excel: Bool

  func write(_ reporter: Reporter) async throws -> DueResponse {
    guard InputFile.isFolder(folder) else {
      throw CommandFailure(.usage, "there is no folder \(printable(folder))")
    }
    var lines: [DueResponse.Line] = []
    for due in try await reporter.dueMonths() {
      let outcome = due.canBeStated ? try await write(due.month, reporter) : .left
      lines.append(.init(month: due.month, outcome: outcome))
    }
    return DueResponse(lines: lines)
  }

  private func write(_ month: Period, _ reporter: Reporter) async throws -> DueResponse.Outcome {
    let path = FolderListing.join(folder, "usage-\(month).csv")
    let report = ReportRequest(.usage, month: month, zone: zone, format: .csv, excel: excel)
    let outcome = try await reporter.run(report, to: .file(path))
    return outcome.kind == .nothingToDo
      ? .unchanged(path: path) : .written(path: path, rows: outcome.rows, sha256: outcome.sha256)
  }
}

/// What became of each month that is over. Where nobody watches only what was written is named, so that cron mails
/// nothing on days without news.
struct DueResponse: Sendable, Equatable, Presentable {
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

  var json: JSONValue {
    [
      "months": .array(
        lines.map { line in
          switch line.outcome {
          case .written(let path, let rows, let sha256):
            [
              "month": .month(line.month), "outcome": "written", "file": .string(path), "rows": .count(rows),
              "sha256": .text(sha256),
            ]
          case .unchanged(let path):
            ["month": .month(line.month), "outcome": "unchanged", "file": .string(path)]
          case .left: ["month": .month(line.month), "outcome": "left"]
          }
        })
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let isWatched = width != nil
    guard !lines.isEmpty else { return isWatched ? "No month is over yet.\n" : "" }
    return lines.map { line in
      switch line.outcome {
      case .written(let path, let rows, _):
        "\(line.month) \(paint.green("written")) \(printable(path)) (\(rows) rows)\n"
      case .unchanged(let path): isWatched ? "\(line.month) is there already: \(printable(path))\n" : ""
      case .left: isWatched ? "\(line.month) \(paint.yellow("left")): its time of grace is not over\n" : ""
      }
    }.joined()
  }
}
