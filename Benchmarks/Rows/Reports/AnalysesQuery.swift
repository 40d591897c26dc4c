import AnalysisCore
import BenchmarkKit
import SQLFiles

/// The report's own statement as `psql` can copy it: on one line, its parameters written in.
enum AnalysesQuery {
  /// The words of `\copy` that write a month's analyses to a file.
  ///
  /// - Throws: `BenchmarkError` when the statement is not where the report has it, or `path` cannot be quoted.
  static func copy(_ month: Period, to path: String) throws -> String {
    guard let text = SQLFiles.text("reports/analyses.sql") else {
      throw BenchmarkError("sql/reports/analyses.sql is not there")
    }
    guard !path.contains("'"), !path.contains("\\") else { throw BenchmarkError("\(path) cannot be quoted") }
    return "\\copy (\(oneLine(text, month))) TO '\(path)' WITH (FORMAT csv, HEADER)"
  }

  static func oneLine(_ text: String, _ month: Period) -> String {
    text.split(separator: "\n").filter { !$0.hasPrefix("--") }.joined(separator: " ")
      .replacing("$1", with: "\(month.label)").replacing("$2", with: "NULL")
  }
}
