import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl audit, against a server")
struct AuditTests {
  /// A user with an analysed, a dead and a waiting job.
  private func with(_ body: (QueueFixture, _ jobs: [String]) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      for grey in 1...3 { try files.write(TinyPicture.png(grey: UInt8(grey)), to: "p\(grey).png") }
      #expect(await queue.control("submit", "--user", "u1", "--type", "throat", files.path).code == .done)
      let claimed = try await queue.claimJobs()
      try await queue.complete(claimed[0])
      try await queue.kill(claimed[1])
      try await queue.execute(
        """
        UPDATE analysis.lease SET deadline = '-infinity';
        SELECT analysis.rescue(0::smallint, 10, 0)
        """)
      try await body(queue, try await queue.texts("SELECT id::text FROM analysis.job ORDER BY id"))
    }
  }

  /// The lines of the audit without number and time.
  private func recorded(_ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      "SELECT concat_ws(' ', action, object, os_user, host, reason) FROM analysis.audit ORDER BY id")
  }

  @Test("each command that changes something, or reads diagnoses, is recorded once with its reason")
  func commands() async throws {
    try await with { (queue, jobs) async throws in
      let control = queue.control
      let runs: [[String]] = [
        ["jobs", "retry", jobs[1], "--reason", "r1"], ["jobs", "cancel", jobs[2], "--reason", " r2\n "],
        ["users", "set-plan", "u1", "free", "--reason", "r3"],
        ["plans", "set-limit", "free", "9", "--reason", "r4"],
        ["pause", "--type", "ear", "--reason", "r5"], ["resume", "--type", "ear", "--reason", "r6"],
        ["report", "analyses", "--reason", "r7", "--month", "2026-10"],
        ["report", "conditions", "--reason", "r8", "--format", "csv", "--month", "2026-10"],
        ["jobs", "show", jobs[0], "--reason", "r9"],
      ]
      for words in runs { #expect(await control.run(words).code == .done, "\(words)") }
      let user = try await queue.number("SELECT user_id FROM analysis.account")
      let expected = [
        "retry job:\(jobs[1])", "cancel job:\(jobs[2])", "set_plan user:\(user)", "set_limit plan:free",
        "pause type:ear", "resume type:ear", "report report:analyses:2026-10",
        "report report:conditions:2026-10", "read_result job:\(jobs[0])",
      ].enumerated().map { "\($1) olga ops-1 r\($0 + 1)" }
      #expect(try await recorded(queue) == expected)
    }
  }

  @Test("what is only looked at, refused or fails is not recorded")
  func notRecorded() async throws {
    try await with { (queue, jobs) async throws in
      let control = queue.control
      let files = try TemporaryFolder()
      let runs: [([String], ExitCode)] = [
        (["jobs", "cancel", jobs[2], "--dry-run"], .done), (["jobs", "cancel", jobs[0]], .refused),
        (["jobs", "retry", jobs[2]], .refused), (["jobs", "show", jobs[1]], .done),
        (["jobs", "show", jobs[2]], .done), (["jobs", "show", "99999"], .refused), (["jobs", "list"], .done),
        (["users", "set-plan", "nobody", "free"], .refused), (["plans", "set-limit", "gold", "1"], .refused),
        (["settings", "set", "keep_images", "90 days", "--dry-run"], .done),
        (["settings", "set", "keep_images", "30 days", "--yes"], .nothingToDo),
        (["settings", "set", "keep_images", "90 days"], .usage), (["settings"], .done),
        (["resume"], .done), (["pause", "--until", "2020-01-01T00:00:00Z"], .refused),
        (["report", "usage"], .done), (["report", "summary"], .done), (["month"], .done),
        (["month", "close", "current", "--yes"], .tryLater),
        (["month", "close", "--due", "--yes"], .nothingToDo),
        (["report", "analyses", "--zone", "Mars/Phobos"], .usage),
        (["report", "analyses", "--out", files.path("no/such/x.csv")], .usage),
        (["purge", "--yes"], .nothingToDo), (["audit", "list"], .done), (["audit", "verify"], .done),
      ]
      for (words, code) in runs { #expect(await control.run(words).code == code, "\(words)") }
      #expect(try await recorded(queue) == [])
    }
  }

  @Test("a report that is refused leaves no entry", arguments: ["operator", "reporter"])
  func refusedReport(role: String) async throws {
    try await with { (queue, _) async throws in
      let ran = await (try await queue.direct(as: role)).control("report", "analyses")
      #expect(ran.code == .permission && ran.output == "", "\(ran.messages)")
      #expect(
        try await queue.texts(
          """
          SELECT object FROM analysis.audit WHERE action = 'report'
          UNION ALL SELECT object FROM analysis.audit_draft WHERE action = 'report'
          """) == [])
    }
  }

  @Test("reports and results whose reading cannot be recorded are not read")
  func unrecorded() async throws {
    try await with { (queue, jobs) async throws in
      try await queue.execute(
        "DROP FUNCTION analysis.open_results; DROP FUNCTION analysis.open_analyses; DROP FUNCTION analysis.open_conditions"
      )
      let shown = await queue.control("jobs", "show", jobs[0])
      #expect(shown.code == .unreachable && shown.output == "")
      #expect(shown.messages.contains("recording who reads the result of job \(jobs[0])"))
      for kind in ["analyses", "conditions"] {
        let ran = await queue.control("report", kind)
        #expect(ran.code == .unreachable && ran.output == "")
        #expect(ran.messages.contains("open_\(kind)"), "\(ran.messages)")
      }
    }
  }

  @Test("list shows the latest first, by filter, a page at a time, and as JSON")
  func list() async throws {
    try await with { (queue, jobs) async throws in
      let control = queue.control
      _ = await control("jobs", "cancel", jobs[2], "--reason", "sent twice")
      _ = await control("pause", "--endpoint", "https://me:secret@model.example.org")
      let all = await control("audit", "list")
      #expect(all.code == .done && all.lines.count == 3 && all.messages == "")
      #expect(all.lines[0].hasPrefix("ENTRY  AT"))
      #expect(all.lines[1].contains("olga@ops-1"))
      #expect(all.lines[1].contains("paused endpoint https://model.example.org"))
      #expect(all.lines[2].contains("cancelled job \(jobs[2])") && all.lines[2].hasSuffix("sent twice"))
      let page = await control("audit", "list", "--limit", "1")
      #expect(page.lines.count == 2 && page.messages == "There may be more: --before 2\n")
      let rest = await control("audit", "list", "--before", "2", "--user", "u1", "--json")
      #expect(rest.output.hasPrefix(#"{"entries":[{"id":1,"at":"20"#))
      #expect(
        rest.output.contains(
          #""os_user":"olga","host":"ops-1","address":null,"action":"cancel","object":"job:\#(jobs[2])","#))
      #expect(rest.output.contains(#""detail":{"jobs": [\#(jobs[2])], "shard": 0, "users": ["#))
      #expect(await control("audit", "list", "--action", "retry").output == "No entries.\n")
      let unknown = await control("audit", "list", "--user", "u2")
      #expect(unknown.code == .refused && unknown.messages.contains("there is no such user"))
    }
  }

  @Test("verify prints the end to be kept, and ends with 1 when it does not fit")
  func verify() async throws {
    try await with { (queue, jobs) async throws in
      let control = queue.control
      _ = await control("jobs", "cancel", jobs[2], "--reason", "sent twice")
      let whole = await control("audit", "verify")
      #expect(whole.code == .done && whole.lines[0] == "The audit is whole: 1 entries from 1 on. Its end:")
      let end = try #require(whole.lines.last)
      _ = await control("pause")
      #expect(await control("audit", "verify", "--expect", end).code == .done)
      try await queue.execute(
        """
        ALTER TABLE analysis.audit DISABLE TRIGGER ALL;
        UPDATE analysis.audit SET reason = 'none' WHERE id = 1;
        ALTER TABLE analysis.audit ENABLE TRIGGER ALL
        """)
      let broken = await control("audit", "verify")
      #expect(broken.code == .jobFailed)
      #expect(
        broken.lines.prefix(2) == [
          "The audit has been changed:",
          "entry 1: the entry was changed: its hash is not that of what it says",
        ])
      let json = await control(
        "audit", "verify", "--json", "--expect", "1:" + String(repeating: "0", count: 64))
      #expect(
        json.code == .jobFailed && json.output.hasPrefix(#"{"whole":false,"entries":2,"first":1,"end":"2:"#))
      #expect(json.output.contains(#"{"entry":1,"fault":"the entry is another than the one that was kept"}"#))
    }
  }

  @Test("an auditor lists and verifies, and changes nothing; nobody else reads the audit")
  func auditor() async throws {
    try await with { (queue, jobs) async throws in
      try await withLoginRole(on: queue.pool, in: ["analysis_auditor"]) { role in
        let control = queue.acting(as: role).control
        #expect(await control("audit", "list").code == .done)
        #expect(await control("audit", "verify").code == .done)
        for words in [
          ["jobs", "list"], ["jobs", "cancel", jobs[2]], ["report", "analyses"], ["purge", "--yes"],
          ["pause"],
        ] {
          #expect(await control.run(words).code == .permission, "\(words)")
        }
        let found = try await queue.acting(as: role).control.doctor().found
        #expect(found.of("rights.role").map(\.seen) == ["login \(role) has the role analysis_auditor"])
        try await queue.execute("REVOKE EXECUTE ON FUNCTION analysis.audit_list FROM analysis_auditor")
        let missing = try await queue.control.doctor().found.of("rights.roles")
        #expect(missing.map(\.seen) == ["the role analysis_auditor may not use audit_list"])
      }
      for group in ["worker", "submitter", "clinician"] {
        try await withLoginRole(on: queue.pool, in: ["analysis_\(group)"]) { role in
          #expect(await queue.acting(as: role).control("audit", "list").code == .permission)
        }
      }
    }
  }
}
