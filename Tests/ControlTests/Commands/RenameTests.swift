import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("analysisctl users rename, against a server")
struct RenameTests {
  @Test("number, jobs, encrypted images and closed statements stay; the audit finds the user by the new name")
  func history() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      var control = queue.control
      control.environment["ANALYSIS_KEY_FILE"] = files.path("image.keys")
      #expect(await control("keys", "new").code == .done)
      try await queue.addUser("u1")
      func submit(_ user: String, _ grey: UInt8) async throws {
        try files.write(TinyPicture.png(grey: grey), to: "p\(grey).png")
        var control = control
        control.runKey = "run-\(grey)"
        let ran = await control("submit", "--user", user, "--type", "throat", files.path("p\(grey).png"))
        #expect(ran.code == .done, "\(ran.messages)")
      }
      try await submit("u1", 1)
      let job = try #require(try await queue.claimJobs().first)
      try await queue.complete(job)
      let month = try await queue.number("SELECT min(period)::int FROM analysis.job")
      // A month that is closed under the old name.
      try await queue.execute(
        """
        INSERT INTO analysis.statement VALUES ('usage', 24000, now());
        INSERT INTO analysis.statement_line (report, period, line, for_period, shard, user_id, user_ref, zone, used,
          over, refunded, refused, last_reset, last_reset_local)
        SELECT 'usage', 24000, 1, 24000, shard, user_id, user_ref, 'UTC', 1, 0, 0, 0, now(), now() FROM analysis.account
        """)
      control.typed = "yes"
      let renamed = await control("users", "rename", "u1", "u2", "--reason", "request 7")
      #expect(renamed.code == .done, "\(renamed.messages)")
      #expect(renamed.output == "user u1 is called u2 now\n")
      control.typed = nil

      #expect(await control("users", "show", "u1").code == .refused)
      #expect(await control("users", "show", "u2").output.contains("user       u2\n"))
      #expect(await control("jobs", "list", "--user", "u2").output.contains("\(job.id)"))
      #expect(await control("jobs", "show", "\(job.id)").output.contains("Tonsillitis"))
      #expect(
        try await queue.texts("SELECT user_ref FROM analysis.statement_line") == ["u1"],
        "a closed month keeps the name")
      let audit = await control("audit", "list", "--user", "u2")
      #expect(audit.output.contains("renamed user #"), "\(audit.output)")
      #expect(audit.output.contains("read the result of job \(job.id)"), "\(audit.output)")
      #expect(!audit.output.contains("u1"))

      // What was encrypted for the old name opens, beside what is encrypted for the new one, also under another key.
      let old = await control("submit", "--user", "u1", "--type", "throat", files.path("p1.png"))
      #expect(old.code == .refused, "\(old.output) \(old.messages)")
      try await submit("u2", 2)
      let second = try #require(try await queue.claim(1).first)
      #expect(
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.images_of_jobs(0::smallint, sha256('1'), \(month)::smallint,
            ARRAY[\(second.lease)]::bigint[], ARRAY[\(second.job)]::bigint[]) i WHERE i.o_user_sha256 = sha256('u2')
          """) == 1)
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.image WHERE user_sha256 = sha256('u1')") == 1)
      for round in ["first", "second"] {
        let folder = files.path("export-\(round)")
        let exported = await control("users", "export", "u2", "--out", folder)
        #expect(exported.code == .done, "\(exported.messages)")
        #expect(exported.output.hasPrefix("2 jobs and 2 images of u2"), "\(exported.output)")
        guard round == "first" else { break }
        #expect(await control("keys", "new").code == .done)
        let rotated = await control("keys", "rotate")
        #expect(rotated.code == .done, "\(rotated.messages)")
      }
    }
  }

  @Test(
    "the old name is nobody's but the same user's, until the person is erased; no other is taken for them")
  func reserved() async throws {
    try await withQueue(shards: 5) { (queue) async throws in
      let control = queue.control
      for user in ["a", "b"] { try await queue.addUser(user) }
      // A name whose own hash points to another shard than the user's.
      let other = try await queue.text(
        """
        SELECT 'n' || i FROM generate_series(1, 1000) i
        WHERE analysis.shard_of('n' || i) <> analysis.shard_of('a') LIMIT 1
        """)
      let home = try await queue.number("SELECT analysis.shard_of('a')::int")
      #expect(await control("users", "rename", "a", other, "--yes").code == .done)
      #expect(try await queue.number("SELECT analysis.shard_of($1)::int", [.text(other)]) == home)
      #expect(await control("users", "show", other).code == .done)
      let outcomes = try await queue.submit([
        queue.submission(other), queue.submission("a"),
      ])
      guard case .created = outcomes[0], case .refused(let refusal) = outcomes[1] else {
        Issue.record("\(outcomes)")
        return
      }
      #expect(refusal.code == "unknown_user")
      for command in [
        ["users", "add", "a"], ["users", "rename", "b", "a", "--yes"],
        ["users", "rename", "b", other, "--yes"], ["users", "rename", "b", "erased-1", "--yes"],
        ["users", "rename", "nobody", "c", "--yes"],
      ] {
        let ran = await control.run(command)
        #expect(ran.code == .refused, "\(command) \(ran.output) \(ran.messages)")
      }
      var imported = queue.control
      imported.input = Array(#"[{"id": "a"}]"#.utf8)
      #expect(await imported("users", "import").output.contains("The user has another name now"))
      // Back, forth, and away.
      #expect(await control("users", "rename", other, "a", "--yes").code == .done)
      #expect(await control("users", "rename", "a", other, "--yes").code == .done)
      let erased = await control("erase", "--user", other, "--confirm", other, "--cancel-open")
      #expect(erased.code == .done, "\(erased.messages)")
      #expect(try await queue.count("renamed") == 0)
      #expect(await control("users", "add", "a").code == .done)
      #expect(await control("users", "add", other).code == .done)
    }
  }

  @Test(
    "a submit that waits while its user is renamed stores nothing under the old name", arguments: [1, 2],
    [true, false])
  func race(jobs: Int, withBytes: Bool) async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("old")
      _ = try await queue.submit([Ask("old", image: "earlier")])
      let asks = (1...jobs).map {
        Ask("old", image: withBytes ? "photo \($0)" : "earlier", withBytes: withBytes, key: "key \($0)")
      }
      let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
        try await queue.pool.transaction { open in
          _ = try await open.query("SELECT analysis.rename_user(0::smallint, 'old', 'new')")
          group.addTask { try await queue.submit(asks) }
          try await queue.untilSomebodyWaits()
        }
        return try await group.next() ?? []
      }
      #expect(answers.map(\.reason) == Array(repeating: "unknown_user", count: jobs))
      #expect(try await queue.count("image") == 1)
    }
  }
}
