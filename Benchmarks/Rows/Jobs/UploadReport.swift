import BenchmarkKit
import Foundation

/// What `wrk` says at its end by the script of ``UploadScript``.
struct UploadReport: Decodable {
  let uploads: Int
  let seconds: Double
  private let failed: Int
  private let p50: Double?
  private let p95: Double?
  private let p99: Double?

  /// How long an answer took, in milliseconds.
  var times: [String: Double] {
    ["p50_ms": p50, "p95_ms": p95, "p99_ms": p99].compactMapValues { $0 }
  }

  /// Reads the last line of its output.
  ///
  /// - Throws: `BenchmarkError` when it is no report, nothing was uploaded or an upload failed.
  init(output: String) throws {
    let line = output.split(separator: "\n").last ?? ""
    guard let report = try? JSONDecoder().decode(UploadReport.self, from: Data(line.utf8)) else {
      throw BenchmarkError("wrk did not end with a report but with: \(line.prefix(500))")
    }
    guard report.failed == 0, report.uploads > 0 else {
      throw BenchmarkError("\(report.failed) uploads of wrk failed and \(report.uploads) were answered")
    }
    self = report
  }
}
