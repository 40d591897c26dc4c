import CommandLineTool
import Formatting
import Reports

/// What the command line asks of a report.
struct ReportArguments: Sendable {
  let kind: ReportKind
  let month: MonthChoice
  let zone: String?
  let format: ReportFormat
  let excel: Bool
  let out: String?
  /// Why it is read, for the audit.
  let reason: String?

  init(_ kind: ReportKind, _ values: Values) throws {
    self.kind = kind
    month = try values[ReportCommand.month]
    zone = try values[ReportCommand.zone]
    excel = try values[ReportCommand.excel]
    // A dash is standard output, as it is without the option.
    out = try values[ReportCommand.out].flatMap { $0 == "-" ? nil : $0 }
    reason = try kind.tellsDiagnoses ? values[ReasonOption.reason] : nil
    let given = try values[ReportCommand.format]
    let isJSON = try values[CommonOptions.json]
    if isJSON, let given, given != .json {
      throw ControlError.usage("--json and --format \(given.rawValue) contradict each other")
    }
    let isDue = try kind == .usage && values[ReportCommand.due] != nil
    format = try given ?? (isJSON ? .json : isDue ? .csv : Self.format(of: out))
    if excel, format != .csv, !isDue {
      throw ControlError.usage("--excel is of use only with --format csv")
    }
  }

  /// A file's ending says how it is to be written.
  private static func format(of file: String?) throws(ControlError) -> ReportFormat {
    guard let file else { return .table }
    switch file.lowercased().split(separator: ".").last {
    case "csv": return .csv
    case "json": return .json
    case "txt": return .table
    default:
      throw .usage(
        "the ending of \(printable(file)) does not say how to write it",
        advice: "Name a file that ends in .csv, .json or .txt (a table), or give --format.")
    }
  }

  /// `--due` decides months, form and files by itself.
  func checkAlone(_ values: Values) throws(ControlError) {
    let others: [(String, ValueSource)] = [
      ("--month", values.source(of: ReportCommand.month)),
      ("--format", values.source(of: ReportCommand.format)),
      ("--out", values.source(of: ReportCommand.out)),
    ]
    for (name, source) in others where source == .commandLine {
      throw .usage("--due and \(name) cannot be given together")
    }
  }
}
