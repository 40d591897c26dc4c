import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("A hostile endpoint harms neither the worker nor whoever reads of its answers")
struct AnswerAttackTests {
  /// Runs the real worker once for all answers, each for a job of its own.
  @Test("Each answer ends as the table says, and what it tells stands in results alone")
  func answers() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let count = AnswerAttack.all.count
      let jobs = try await queue.submit(count, maxAttempts: 1)
      let first = try #require(jobs.map { Int($0.value) }.min())
      let attacks = Dictionary(
        uniqueKeysWithValues: zip(jobs.map { Int($0.value) }.sorted(), AnswerAttack.all))
      let backend = try Backend { call in attacks[call.job ?? first]?.reply ?? Backend.Reply(status: 500) }
      let worker = try await Executable(
        "analysis-worker",
        ["--drain", "--endpoint", backend.url, "--concurrency", "1", "--log-level", "debug"],
        environment: ["ANALYSIS_DATABASE": queue.database.conninfo]
      ).ended()
      #expect(worker.code == 0, "\(worker.messages)")

      let dead = Dictionary(
        uniqueKeysWithValues: try await queue.pool.query("SELECT job_id, class FROM analysis.dead")
          .map { (try $0.int(0), try $0.string(1)) })
      let stored = Set(try await queue.numbers("SELECT job_id FROM analysis.result WHERE outcome = 1"))
      let later = Set(
        try await queue.numbers(
          "SELECT job_id FROM analysis.scheduled WHERE run_at < now() + interval '1 day'"))
      for (job, attack) in attacks {
        let came: AnswerAttack.Outcome? =
          if stored.contains(job) { .stored } else if later.contains(job) { .later } else {
            dead[job].map { .dead($0) }
          }
        #expect(came == attack.outcome, "\(attack.tries)")
      }

      #expect(!(worker.messages + worker.output).contains(AnswerAttack.mark), "a diagnosis is in the log")
      #expect(
        try await queue.texts(
          """
          SELECT e::text FROM analysis.attempt_error e WHERE strpos(e::text, '\(AnswerAttack.mark)') > 0
          UNION ALL SELECT d::text FROM analysis.dead d WHERE strpos(d::text, '\(AnswerAttack.mark)') > 0
          """) == [])
      #expect(
        try await queue.number(
          "SELECT count(*) FROM analysis.result r WHERE r::text ~ analysis.hidden_characters()") == 0)
      try await queue.expectSound()
    }
  }
}
