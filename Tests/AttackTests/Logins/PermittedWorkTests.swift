import PostgreSQL
import QueueTestSupport
import Testing

@Suite("What each login may do, it can")
struct PermittedWorkTests {
  /// The state with which the server refuses a role's statement; nil when it does not.
  private func refusal(of role: String, _ sql: String, in queue: QueueFixture) async throws -> String? {
    do {
      try await withLogin(of: [role], in: queue) { _ = try await $0.query(sql) }
      return nil
    } catch let error as PostgreSQLError {
      return error.sqlState
    }
  }

  @Test("A worker sees the images of jobs that it has, for as long as it has them, and no others")
  func workersImages() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      _ = try await queue.create((1...3).map { Ask("u", image: "photo \($0)") })
      let month = try await queue.number("SELECT max(period)::int FROM analysis.image")
      let jobs = try await queue.pool.query("SELECT id FROM analysis.job").map { try $0.int64(0) }
      try await withLogin(of: ["worker"], in: queue) { (worker) async throws in
        func refusal(_ jobs: [Int64]) async throws -> String? {
          do {
            _ = try await worker.query(
              "SELECT o_image FROM analysis.images_of_jobs(0::smallint, sha256('1'), $1::smallint, '{100,101}', $2)",
              [.int16(Int16(month)), .array(jobs)])
            return nil
          } catch {
            return error.sqlState
          }
        }
        #expect(try await refusal(jobs) == "40001")
        let claimed = try await queue.claim(2, on: worker)
        #expect(try await refusal(jobs) == "40001")
        #expect(try await refusal(claimed.map(\.job)) == nil)
        _ = try await queue.complete([claimed[0].job], leases: [claimed[0].lease], on: worker)
        #expect(try await refusal(claimed.map(\.job)) == "40001")
        #expect(try await refusal([claimed[1].job]) == nil)
      }
    }
  }

  @Test(
    "Each does by the functions what is its own",
    arguments: [
      ("submitter", "SELECT analysis.submit_image('u', 'throat', E'\\\\xffd8ff'::bytea)"),
      ("submitter", "SELECT analysis.open_batch('ward 3')"),
      ("submitter", "SELECT analysis.list_batches(NULL, NULL, 10, 100)"),
      ("clinician", "SELECT analysis.batch_counts(0::smallint, '{1}')"),
      ("submitter", "SELECT analysis.open_results('u', '{1}')"),
      ("submitter", "SELECT * FROM analysis.cancel(0::smallint, '{1}')"),
      ("worker", "SELECT * FROM analysis.claim(0::smallint, sha256('1'), 1, '{5}', '{0}', '{1}', 1, 1000)"),
      ("worker", "SELECT analysis.refresh_gauges()"), ("worker", "SELECT analysis.prepare_months()"),
      ("worker", "SELECT analysis.refresh_counts('{0}')"),
      ("auditor", "SELECT * FROM analysis.status_of_queue(10001)"),
      ("reporter", "SELECT * FROM analysis.usage_report(24300::smallint, NULL, now())"),
      ("reporter", "SELECT analysis.close_usage(24300::smallint)"),
      ("reporter", "SELECT * FROM analysis.finding_counts(24300::smallint)"),
      ("auditor", "SELECT * FROM analysis.usage_report(24300::smallint, NULL, now())"),
    ])
  func permitted(role: String, sql: String) async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      #expect(try await refusal(of: role, sql, in: queue) == nil)
    }
  }
}
