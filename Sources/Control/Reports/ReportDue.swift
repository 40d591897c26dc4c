import CommandLineTool
import Support

/// Writes the statement of every closed month, as `report usage --due` asks.
struct DueStatements: Sendable {
  let folder: String
  let zone: String?
  let excel: Bool
  /// Whether what is billed stands beside each line, in months in which something has a price.
  let hasPrices: Bool

  func write(_ reporter: Reporter, of months: [BilledMonth]) async throws -> DueResponse {
    guard InputFile.isFolder(folder) else {
      throw CommandFailure(.usage, "there is no folder \(printable(folder))")
    }
    var lines: [DueResponse.Line] = []
    for month in months {
      let outcome: DueResponse.Outcome
      switch month.state {
      case .closed: outcome = try await write(month, reporter)
      case .due: outcome = .unclosed
      case .grace: outcome = .left
      case .running: continue
      }
      lines.append(.init(month: month.period, outcome: outcome))
    }
    return DueResponse(lines: lines)
  }

  private func write(_ month: BilledMonth, _ reporter: Reporter) async throws -> DueResponse.Outcome {
    let path = FolderListing.join(folder, "usage-\(month.period).csv")
    let report = ReportRequest(
      .usage, month: month.period, zone: zone, format: .csv, excel: excel,
      scope: UsageScope(hasPrices: hasPrices && month.isPriced))
    let outcome = try await reporter.run(report, to: .file(path))
    return outcome.kind == .nothingToDo
      ? .unchanged(path: path) : .written(path: path, rows: outcome.rows, sha256: outcome.sha256)
  }
}

/// What became of each month that is over. Where nobody watches only what was written or has to be closed is named, so
/// that cron mails nothing on days without news.
struct DueResponse: Sendable, Equatable, Presentable {
  enum Outcome: Sendable, Equatable {
    case written(path: String, rows: Int, sha256: String?)
    /// The file was there already, byte for byte.
    case unchanged(path: String)
    /// The month's time of grace is not over.
    case left
    /// It could be closed, and nobody has.
    case unclosed
  }

  struct Line: Sendable, Equatable {
    let month: Period
    let outcome: Outcome
  }

  let lines: [Line]

  /// 0 if a file was written, 6 if none was and a month that is over is not closed, else 5.
  var exitCode: ExitCode {
    let isWritten = lines.contains { if case .written = $0.outcome { true } else { false } }
    if isWritten { return .done }
    return lines.contains { $0.outcome == .left || $0.outcome == .unclosed } ? .jobsStillOpen : .nothingToDo
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
          case .unclosed: ["month": .month(line.month), "outcome": "unclosed"]
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
        "\(line.month) \(paint.green("written")) \(printable(path)) (\(rows == 1 ? "1 row" : "\(rows) rows"))\n"
      case .unchanged(let path): isWatched ? "\(line.month) is there already: \(printable(path))\n" : ""
      case .left: isWatched ? "\(line.month) \(paint.yellow("left")): its time of grace is not over\n" : ""
      case .unclosed:
        "\(line.month) is \(paint.yellow("not closed")): close it with \(BilledMonth.commandToClose(line.month))\n"
      }
    }.joined()
  }
}
