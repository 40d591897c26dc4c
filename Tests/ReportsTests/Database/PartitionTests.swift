import AnalysisCore
import PostgreSQL
import Testing

@testable import Reports

@Suite("Partitions")
struct PartitionTests {
  /// A statement of the reports, what it is given for October 2026, and the partitions that it reads.
  static let statements: [(ReportStatement, String, [String])] = [
    (.usage, "24321, NULL, '2026-11-02Z'", ["attempt_error_p24321", "result_p24321"]),
    (.analyses, "24321, 'UTC'", ["result_p24321"]),
    (.conditions, "24321", ["result_p24321"]),
    (.summary, "24321, '2026-11-02Z'", ["attempt_error_p24321", "result_p24321"]),
    (.openJobs, "24321", ["result_p24321"]),
  ]

  @Test(
    "only the month's partitions are read, by the custom plan and by the generic one",
    arguments: statements, ["force_custom_plan", "force_generic_plan"])
  func pruned(statement: (ReportStatement, String, [String]), mode: String) async throws {
    let (name, values, partitions) = statement
    try await ReportsDatabase.with { database in
      let sql = try name.with().sql
      let plan = try await database.pool.withConnection { connection in
        try await connection.execute(script: "SET plan_cache_mode = \(mode); PREPARE report AS \(sql)")
        return try await connection.query("EXPLAIN (COSTS off) EXECUTE report(\(values))").map { row in
          try row.string(0)
        }
      }
      let read = plan.joined(separator: " ").split { !($0.isLetter || $0.isNumber || $0 == "_") }
        .filter { $0.contains("_p24") && !$0.hasSuffix("key") && !$0.hasSuffix("idx") }
      #expect(Set(read.map(String.init)) == Set(partitions))
    }
  }
}
