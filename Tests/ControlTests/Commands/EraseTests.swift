import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("analysisctl erase, against a server")
struct EraseTests {
  /// A user with one analysed job, one dead and, if wanted, one that waits.
  private func plant(_ queue: QueueFixture, isWaiting: Bool) async throws {
    try await queue.addUser("u1")
    let files = try TemporaryFolder()
    for number in 1...3 { try files.write(TinyPicture.png(grey: UInt8(number)), to: "p\(number).png") }
    let paths = ["p1.png", "p2.png"].map { files.path($0) }
    let submitted = await queue.control.run(["submit", "--user", "u1", "--type", "throat"] + paths)
    #expect(submitted.code == .done, "\(submitted.messages)")
    let jobs = try await queue.claimJobs()
    try await queue.complete(jobs[0])
    try await queue.kill(jobs[1])
    guard isWaiting else { return }
    #expect(
      await queue.control("submit", "--user", "u1", "--type", "ear", files.path("p3.png")).code == .done)
  }

  /// How many rows tell anything of a person.
  private func told(_ queue: QueueFixture) async throws -> Int {
    try await queue.number(
      """
      SELECT ((SELECT count(*) FROM analysis.image) + (SELECT count(*) FROM analysis.profile)
            + (SELECT count(*) FROM analysis.idem) + (SELECT count(*) FROM analysis.account WHERE user_ref = 'u1')
            + (SELECT count(*) FROM analysis.result WHERE primary_id IS NOT NULL OR jsonb_array_length(conditions) > 0)
            + (SELECT count(*) FROM analysis.dead WHERE message <> 'erased' OR code IS NOT NULL)
            + (SELECT count(*) FROM analysis.attempt_error WHERE message <> 'erased' OR code IS NOT NULL)
            + (SELECT count(*) FROM analysis.job WHERE source_name IS NOT NULL OR key_hash IS NOT NULL))::int
      """)
  }

  @Test("While jobs are open nothing goes, and the words say how to go on; cancelled, all of it goes")
  func open() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: true)
      let before = try await told(queue)
      let refused = await queue.control("erase", "--user", "u1", "--confirm", "u1")
      #expect(
        refused.code == .tryLater && refused.output.contains("1 jobs of u1 have not ended"),
        "\(refused.messages)")
      #expect(refused.output.contains("--cancel-open"))
      #expect(try await told(queue) == before)

      let erased = await queue.control("erase", "--user", "u1", "--confirm", "u1", "--cancel-open", "--json")
      #expect(erased.code == .done, "\(erased.messages)")
      #expect(
        erased.output.contains(#""cancelled":1"#) && erased.output.contains(#""images":3"#),
        "\(erased.output)")
      #expect(try await told(queue) == 0)
      #expect(await queue.control("reconcile").code == .done)
      #expect(try await queue.texts("SELECT user_ref FROM analysis.account")[0].hasPrefix("erased-"))
    }
  }

  @Test("A job that a worker holds is cancelled too, and what it finds is stored nowhere")
  func running() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: true)
      let held = try await queue.claimJobs(Lane(.ear, .normal), lease: 2000)
      #expect(held.count == 1)
      #expect(await queue.control("erase", "--user", "u1", "--confirm", "u1", "--cancel-open").code == .done)
      try await queue.complete(held[0])
      #expect(try await told(queue) == 0)
      #expect(await queue.control("reconcile").code == .done)
    }
  }

  @Test("A dry run says what would go, and takes all of it back")
  func dry() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let before = try await told(queue)
      let dry = await queue.control("erase", "--user", "u1", "--dry-run", "--json")
      #expect(dry.code == .done && dry.output.contains(#""images":2"#), "\(dry.output) \(dry.messages)")
      #expect(dry.output.contains(#""dry_run":true"#) && dry.output.contains(#""audit":null"#))
      #expect(try await told(queue) == before)
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.audit WHERE action = 'erase'") == 0)
    }
  }

  @Test("It is in the audit by the number alone, with who and why, and the receipt names the entry")
  func audited() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let number = try await queue.texts("SELECT user_id::text FROM analysis.account")[0]
      let files = try TemporaryFolder()
      let erased = await queue.control(
        "erase", "--user", "u1", "--confirm", "u1", "--reason", "request 114", "--receipt",
        files.path("receipt.json"), "--json")
      #expect(erased.code == .done, "\(erased.messages)")
      #expect(try files.text("receipt.json") == erased.output)
      let entries = try await queue.texts(
        """
        SELECT format('%s %s %s %s %s:%s', object, os_user, host, reason, id, encode(hash, 'hex'))
        FROM analysis.audit WHERE action = 'erase' ORDER BY id
        """)
      #expect(entries.allSatisfy { $0.hasPrefix("user:\(number) olga ops-1 request 114 ") }, "\(entries)")
      let mark = try #require(entries.last?.split(separator: " ").last)
      #expect(erased.output.contains(mark))
      #expect(await queue.control("audit", "verify").code == .done)
    }
  }

  @Test("A receipt that cannot be written is found before anything is gone")
  func unwritable() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let before = try await told(queue)
      let refused = await queue.control(
        "erase", "--user", "u1", "--confirm", "u1", "--receipt", "/nowhere/at/all/receipt.json")
      #expect(refused.code == .usage, "\(refused.messages)")
      #expect(try await told(queue) == before)
    }
  }

  @Test("A receipt that could not be written is reported with what was done, and can be written again")
  func unwritten() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let number = try await queue.number("SELECT user_id::int FROM analysis.account")
      let files = try TemporaryFolder()
      let erased = await queue.control("erase", "--user", "u1", "--confirm", "u1", "--receipt", "/dev/full")
      #expect(erased.code == .tryLater, "\(erased.messages)")
      #expect(
        erased.messages.contains("the person is erased (number \(number)), but there is no receipt"),
        "\(erased.messages)")
      #expect(
        erased.messages.contains("analysisctl erase --number \(number) --confirm \(number) --receipt FILE"))
      #expect(try await told(queue) == 0)
      let again = await queue.control(
        "erase", "--number", "\(number)", "--confirm", "\(number)", "--receipt", files.path("again.json"))
      #expect(again.code == .done, "\(again.messages)")
      #expect(try files.text("again.json").contains("\(number)"))
    }
  }

  @Test("Somebody whose reference looks like another's number is nobody else")
  func likeNumbers() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let number = try await queue.number("SELECT user_id::int FROM analysis.account")
      try await queue.addUser("#\(number)")
      try await queue.addUser("erased-\(number)")
      #expect(await queue.control("erase", "--user", "u1", "--confirm", "u1").code == .done)
      #expect(
        try await queue.texts("SELECT user_ref FROM analysis.account ORDER BY user_id") == [
          "erased-\(number)-", "#\(number)", "erased-\(number)",
        ])
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.profile") == 2)
    }
  }

  @Test("A submit in a back-end's open transaction is waited for, and what it brings is seen")
  func openSubmit() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let outcome = try await withThrowingTaskGroup(of: Control.Ran?.self) { group in
        try await queue.pool.transaction { transaction in
          _ = try await transaction.query(
            "SELECT * FROM analysis.submit_image('u1', 'throat', E'\\\\xffd8ff'::bytea)")
          group.addTask { await queue.control("erase", "--user", "u1", "--confirm", "u1", "--cancel-open") }
          try await queue.untilSomebodyWaits()
        }
        return try await group.next() ?? nil
      }
      #expect(outcome?.code == .done, "\(outcome?.messages ?? "")")
      #expect(outcome?.output.contains("jobs cancelled       1") == true, "\(outcome?.output ?? "")")
      #expect(try await told(queue) == 0)
      #expect(await queue.control("reconcile").code == .done)
    }
  }

  @Test("By the number somebody is erased again, and nothing is counted twice")
  func byNumber() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let number = try await queue.texts("SELECT user_id::text FROM analysis.account")[0]
      #expect(await queue.control("erase", "--user", "u1", "--confirm", "u1").code == .done)
      let again = await queue.control("erase", "--number", number, "--confirm", number, "--json")
      #expect(
        again.code == .done && again.output.contains(#""images":0"#), "\(again.output) \(again.messages)")
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.audit WHERE action = 'erase'") == 1)
      #expect(await queue.control("erase", "--number", "999999", "--confirm", "999999").code == .refused)
      #expect(await queue.control("erase").code == .usage)
      #expect(await queue.control("erase", "--user", "u1", "--number", number).code == .usage)
    }
  }

  @Test("Nobody is erased twice, and whoever comes again under the same name is somebody new")
  func again() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      let unknown = await queue.control("erase", "--user", "nobody", "--confirm", "nobody")
      #expect(unknown.code == .refused)
      #expect(unknown.messages.contains("There is no user nobody, so nothing was removed."))
      #expect(!unknown.messages.contains("Add the user"))
      #expect(await queue.control("erase", "--user", "u1", "--confirm", "u1").code == .done)
      #expect(await queue.control("erase", "--user", "u1", "--confirm", "u1").code == .refused)
      try await queue.addUser("u1")
      let shown = await queue.control("users", "show", "u1", "--json")
      #expect(shown.output.contains(#""used":0"#), "\(shown.output)")
    }
  }

  @Test("Reports count what was analysed and show no analysis; a closed month's lines name a number")
  func reports() async throws {
    try await withQueue { (queue) async throws in
      try await plant(queue, isWaiting: false)
      try await queue.pool.execute(
        script: """
          UPDATE analysis.account SET created_at = created_at - interval '100 days';
          INSERT INTO analysis.usage (shard, user_id, period)
            SELECT shard, user_id, analysis.period_of(now(), 'UTC') - 2 FROM analysis.account;
          SELECT analysis.close_usage((analysis.period_of(now(), 'UTC') - 2)::smallint);
          """)
      #expect(await queue.control("erase", "--user", "u1", "--confirm", "u1").code == .done)
      let usage = await queue.control("report", "usage", "--format", "csv")
      #expect(
        usage.code == .done && usage.output.contains("erased-") && !usage.output.contains("u1"),
        "\(usage.output)")
      let analyses = await queue.control("report", "analyses", "--format", "csv")
      #expect(analyses.code == .done && !analyses.output.contains("erased"), "\(analyses.output)")
      #expect(
        try await queue.texts("SELECT user_ref FROM analysis.statement_line").allSatisfy {
          $0.hasPrefix("erased-")
        })
      // Nothing else of a closed line can be changed, and nobody else's name.
      for change in ["used = used + 1", "user_ref = 'u2'", "zone = 'Asia/Jakarta'"] {
        await #expect(throws: (any Error).self) {
          try await queue.pool.query("UPDATE analysis.statement_line SET \(change)")
        }
      }
    }
  }

  @Test(
    "Their name is to be typed, after what would go was shown; anything else, or no terminal, and nothing is removed",
    arguments: [("u1", ExitCode.done), ("u2", .refused), ("y", .refused), ("", .refused), (nil, .usage)]
      as [(String?, ExitCode)])
  func confirmed(typed: String?, code: ExitCode) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      var control = queue.control
      control.typed = typed
      let ran = await control("erase", "--user", "u1")
      #expect(ran.code == code, "\(ran.messages)")
      #expect(ran.messages.contains(typed == nil ? "Give --confirm" : "It cannot be undone"))
      let left = try await queue.number("SELECT count(*)::int FROM analysis.account WHERE user_ref = 'u1'")
      #expect(left == (code == .done ? 0 : 1))
    }
  }

  @Test("A confirmation of somebody else is refused")
  func otherConfirmed() async throws {
    try await withQueue { (queue) async throws in
      for user in ["u1", "u2"] { try await queue.addUser(user) }
      let ran = await queue.control("erase", "--user", "u1", "--confirm", "u2")
      #expect(ran.code == .usage && ran.messages.contains("is not that of the user to be erased"))
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.account WHERE erased_at IS NULL") == 2)
    }
  }
}
