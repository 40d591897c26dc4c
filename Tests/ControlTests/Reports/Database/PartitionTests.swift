import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Partitions")
struct PartitionTests {
  /// A call of the reports, what it is given for October 2020 (% is by what a reading was opened), the function that
  /// opens it, and the partitions that it reads.
  static let calls: [(String, String, String?, [String])] = [
    (
      "usage_report($1::smallint, $2::text, $3::timestamptz)", "24249, NULL, '2020-11-02Z'", nil,
      ["attempt_error_p24249", "job_p24249", "result_p24249"]
    ),
    (
      "report_analyses($1::smallint, $2::text, $3::text, $4::smallint, $5::bigint, $6::bigint)",
      "24249, '%', 'UTC', 0, 0, 1000000", "open_analyses", ["result_p24249"]
    ),
    ("analyses_bounds($1::smallint, $2::text)", "24249, '%'", "open_analyses", ["result_p24249"]),
    ("report_conditions($1::smallint, $2::text)", "24249, '%'", "open_conditions", ["result_p24249"]),
    (
      "summary_report($1::smallint, $2::timestamptz)", "24249, '2020-11-02Z'", nil,
      ["attempt_error_p24249", "job_p24249", "result_p24249"]
    ),
    (
      "usage_lines($1::smallint, $2::text, $3::timestamptz, $4::text, $5::text, $6::boolean)",
      "24249, NULL, '2020-11-02Z', NULL, 'ana', false", nil, ["attempt_error_p24249", "result_p24249"]
    ),
    (
      "usage_groups($1::text, $2::text, $3::text, $4::text, $5::text)",
      "'type', '2020-10-03', '2020-10-29', NULL, NULL", nil,
      ["attempt_error_p24249", "job_p24249", "result_p24249"]
    ),
    ("open_jobs($1::smallint)", "24249", nil, ["result_p24249"]),
  ]

  @Test(
    "only the month's partitions are read, by the custom plan and by the generic one",
    arguments: calls, ["force_custom_plan", "force_generic_plan"])
  func pruned(call: (String, String, String?, [String]), mode: String) async throws {
    let (call, values, opening, partitions) = call
    try await withQueue(from: .plantedMonth) { queue in
      var reading = ""
      if let opening {
        reading = try await queue.pool.query("SELECT analysis.\(opening)(24249::smallint, NULL)").single()
          .string(0)
      }
      let given = values.replacing("%", with: reading)
      // What the functions read inside, the server's own counts of this transaction tell. Jobs may be in later months
      // since.
      let read = try await queue.pool.withConnection { connection in
        try await connection.execute(
          script:
            "SET plan_cache_mode = \(mode); PREPARE report AS SELECT * FROM analysis.\(call); BEGIN; EXECUTE report(\(given))"
        )
        let read = try await connection.query(
          """
          SELECT relname::text FROM pg_stat_xact_user_tables
          WHERE (relname ~ '^(result|attempt_error|image)_p24' OR relname BETWEEN 'job_p24' AND 'job_p24249')
            AND coalesce(seq_scan, 0) + coalesce(idx_scan, 0) > 0
          """
        ).map { try $0.string(0) }
        try await connection.execute(script: "ROLLBACK")
        return read
      }
      #expect(Set(read) == Set(partitions))
    }
  }
}
