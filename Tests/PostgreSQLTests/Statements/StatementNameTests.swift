import Testing

@testable import PostgreSQL

@Suite("Whether a statement needs the search path")
struct StatementNameTests {
  @Test(
    "A call of a function by its schema does not, whichever of its columns are asked for",
    arguments: [
      "SELECT * FROM analysis.list_jobs($1, $2)", "SELECT o_job, o_state FROM analysis.list_jobs($1, $2)",
      "SELECT pg_catalog.pg_backend_pid()", "SELECT *\nFROM analysis.submit_in_batch($1, ($2, $3), $4)",
    ])
  func qualified(sql: String) {
    #expect(SQLStatement(sql).namesSchemas)
  }

  @Test(
    "An operator does, and a name without its schema",
    arguments: [
      "SELECT 2 * 3", "SELECT o_count * 2 FROM analysis.counts()", "SELECT * FROM job",
      "SELECT now()", "SELECT o_job FROM analysis.jobs() WHERE o_state = 'dead'",
      "SELECT count(*) FROM analysis.jobs()",
    ])
  func unqualified(sql: String) {
    #expect(!SQLStatement(sql).namesSchemas)
  }
}
