import Foundation
import PostgreSQL

/// Compares reports with the rows they are made of, and a closed month with what it was.
struct ReportChecks {
  /// A report's totals, and what the database says.
  struct Totals: Sendable, Equatable {
    var used = 0
    var analysed = 0
    var calls = 0
  }

  /// The totals of a usage report as CSV.
  ///
  /// - Throws: When a column is missing or a value is no number.
  static func totals(ofCSV text: String) throws -> Totals {
    let lines = text.components(separatedBy: "\r\n").filter { !$0.isEmpty }
      .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    guard let header = lines.first else { throw BadReport(description: "the report is empty") }
    func sum(_ column: String) throws -> Int {
      guard let place = header.firstIndex(of: column) else {
        throw BadReport(description: "no column \(column)")
      }
      return try lines.dropFirst().reduce(0) { sum, line in
        guard line.indices.contains(place), let value = Int(line[place]) else {
          throw BadReport(description: "a line of the report has no number in \(column)")
        }
        return sum + value
      }
    }
    return Totals(used: try sum("used"), analysed: try sum("analysed"), calls: try sum("calls"))
  }

  struct BadReport: Error, CustomStringConvertible {
    let description: String
  }

  static func totals(_ reported: Totals, _ counted: Totals) -> Finding {
    Finding(
      "reports", "the usage report adds up to the rows",
      broken: reported == counted ? [] : ["the report says \(reported), the rows say \(counted)"])
  }

  static func statement(first: [UInt8]?, last: [UInt8]?) -> Finding {
    let isSame = first != nil && first == last
    return Finding(
      "I9 statement", "a closed month comes out byte for byte the same",
      broken: isSame ? [] : ["the statement of the past month changed, or could not be written"])
  }

  /// What the rows of a month say.
  static func counted(_ label: Int16, in database: ConnectionPool) async throws -> Totals {
    let row = try await database.query(
      """
      SELECT (SELECT count(*) FROM analysis.job j WHERE j.period = $1
                AND NOT EXISTS (SELECT 1 FROM analysis.dead d WHERE d.shard = j.shard AND d.job_id = j.id)
                AND NOT EXISTS (SELECT 1 FROM analysis.result r WHERE r.shard = j.shard AND r.period = j.period
                  AND r.job_id = j.id AND r.outcome = 2)),
             (SELECT count(*) FROM analysis.result WHERE period = $1 AND outcome = 1),
             (SELECT coalesce(sum(calls), 0)::bigint FROM analysis.result WHERE period = $1)
               + (SELECT coalesce(sum(calls), 0)::bigint FROM analysis.attempt_error WHERE period = $1)
      """, [.int16(label)], deadline: .seconds(300)
    ).single()
    return Totals(used: Int(try row.int64(0)), analysed: Int(try row.int64(1)), calls: Int(try row.int64(2)))
  }
}
