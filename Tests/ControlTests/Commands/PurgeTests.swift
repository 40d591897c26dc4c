import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl purge, against a server")
struct PurgeTests {
  /// A user with one analysed and one dead job of 30 months ago. The month is closed unless the caller says otherwise.
  private func with(isClosed: Bool = true, _ body: (QueueFixture, _ month: String) async throws -> Void)
    async throws
  {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      for grey in 1...2 { try files.write(TinyPicture.png(grey: UInt8(grey)), to: "p\(grey).png") }
      #expect(await queue.control("submit", "--user", "u1", "--type", "throat", files.path).code == .done)
      let claimed = try await queue.claimJobs()
      try await queue.complete(claimed[0])
      try await queue.kill(claimed[1])
      try await queue.execute(Self.back)
      if isClosed { #expect(await queue.control("month", "close", "--due", "--yes").code == .done) }
      try await body(
        queue, try await queue.texts("SELECT analysis.period_text(period) FROM analysis.usage")[0])
    }
  }

  private static let back = """
    SELECT analysis.apply_refunds(0::smallint, 10);
    SELECT analysis.ensure_partitions((min(period) - 30)::smallint, (min(period) - 30)::smallint) FROM analysis.job;
    UPDATE analysis.account SET created_at = created_at - interval '1000 days';
    UPDATE analysis.usage SET period = period - 30;
    UPDATE analysis.idem SET period = period - 30;
    UPDATE analysis.job SET period = period - 30, image_period = image_period - 30;
    UPDATE analysis.image SET period = period - 30, created_at = created_at - interval '900 days', used_at = used_at - interval '900 days';
    UPDATE analysis.result SET period = period - 30, finished_at = finished_at - interval '900 days';
    UPDATE analysis.attempt_error SET period = period - 30, at = at - interval '900 days';
    UPDATE analysis.dead SET period = period - 30, failed_at = failed_at - interval '900 days'
    """

  @Test(
    "a dry run says what goes and changes nothing, the run says the same, and then nothing is left: 0, 0, 5")
  func run() async throws {
    try await with { (queue, month) async throws in
      let usage = await queue.control("report", "usage", "--month", month, "--format", "csv")
      let dry = await queue.control("purge", "--dry-run", "--share", "100")
      #expect(dry.code == .done && dry.lines.first == "Would be removed:")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 2)
      let ran = await queue.control("purge", "--yes", "--share", "100", "--json")
      #expect(ran.code == .done)
      #expect(
        ran.output.hasPrefix(
          #"{"dry_run":false,"complete":true,"removed":[{"kind":"images","month":"\#(month)","rows":2,"#))
      #expect(
        ran.output.contains(#"{"kind":"results","month":"\#(month)","rows":1,"#)
          && ran.output.contains(#""whole_month":true"#))
      let again = await queue.control("purge", "--yes")
      #expect(again.code == .nothingToDo && again.output == "" && again.messages == "")
      #expect(await queue.control("reconcile").code == .done)
      // What was stated comes out as before, and what is gone is said to be.
      let later = await queue.control("report", "usage", "--month", month, "--format", "csv")
      #expect(later.output == usage.output && later.messages == "")
      for kind in ["analyses", "conditions", "summary"] {
        let report = await queue.control("report", kind, "--month", month, "--json")
        #expect(
          report.code == .done && report.messages.hasPrefix("Results of \(month) have been removed since 20"))
        #expect(report.output.contains(#""results_removed_since":"20"#))
        #expect(await queue.control("report", kind).messages == "")
      }
      #expect(await queue.control("audit", "verify").code == .done)
    }
  }

  @Test("a month whose tables are in use is left, code 75, and goes with a later run")
  func busy() async throws {
    try await with { (queue, month) async throws in
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "BEGIN; SELECT 1 FROM analysis.result LIMIT 1")
        let ran = await queue.control("purge", "--yes", "--share", "100")
        #expect(ran.code == .tryLater)
        #expect(ran.output.contains("\(month) left: its tables were in use"))
        try await connection.execute(script: "ROLLBACK")
      }
      #expect(await queue.control("purge", "--yes", "--share", "100").code == .done)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.result") == 0)
    }
  }

  @Test("a month that nobody has closed keeps its jobs: code 6, and the command that closes it")
  func unclosed() async throws {
    try await with(isClosed: false) { (queue, month) async throws in
      let kept = "What is past its time in \(month) is kept, since the month is not closed. "
      let command = "Close it with analysisctl month close \(month), and purge again.\n"
      let dry = await queue.control("purge", "--dry-run", "--share", "100")
      #expect(dry.code == .jobsStillOpen && dry.messages.contains(kept + command), "\(dry.messages)")
      #expect(!dry.output.contains("results"))
      let ran = await queue.control("purge", "--yes", "--share", "100")
      #expect(ran.code == .jobsStillOpen && ran.messages.contains(kept + command), "\(ran.messages)")
      let json = await queue.control("purge", "--yes", "--share", "100", "--json")
      #expect(json.code == .jobsStillOpen && json.output.contains(#""unclosed_months":["\#(month)""#))
      // Where nothing else would go it does not ask, and says why.
      var asked = queue.control
      asked.typed = "y"
      let nothing = await asked("purge", "--share", "100")
      #expect(nothing.code == .jobsStillOpen && nothing.messages.contains(kept), "\(nothing.messages)")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 2)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 0)
      #expect(await queue.control("month", "close", month, "--yes").code == .done)
      let rest = await queue.control("purge", "--yes", "--share", "100")
      #expect(rest.output.contains("results"), "\(rest.output)")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 0)
    }
  }

  @Test("a dead job whose image is gone is not queued again, and that is said, code 4")
  func retry() async throws {
    try await with { (queue, month) async throws in
      try await queue.execute(
        "UPDATE analysis.setting SET value = '' WHERE name IN ('keep_dead', 'keep_results')")
      #expect(await queue.control("purge", "--yes", "--share", "100").code == .done)
      let dead = try await queue.texts("SELECT job_id::text FROM analysis.dead")[0]
      let ran = await queue.control("jobs", "retry", dead)
      #expect(ran.code == .refused)
      #expect(ran.output.contains("its image was removed after the time for which images are kept"))
    }
  }

  @Test("It shows what would go and asks; without a terminal it wants --yes")
  func asked() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      _ = try await queue.create([Ask("u1")])
      _ = try await queue.complete(try await queue.claim())
      var control = queue.control
      let alone = await control("purge")
      #expect(alone.code == .usage && alone.messages.contains("Give --yes"))
      control.typed = "y"
      #expect(await control("purge").code == .nothingToDo)
      try await queue.execute(
        """
        UPDATE analysis.setting SET value = '1 hour' WHERE name = 'keep_images';
        UPDATE analysis.result SET finished_at = finished_at - interval '2 hours';
        UPDATE analysis.image SET used_at = used_at - interval '2 hours'
        """)
      control.typed = "n"
      let declined = await control("purge", "--share", "100")
      #expect(declined.code == .refused && declined.messages.contains("Would be removed:"))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 1)
      control.typed = "y"
      #expect(await control("purge", "--share", "100").code == .done)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 0)
    }
  }
}
