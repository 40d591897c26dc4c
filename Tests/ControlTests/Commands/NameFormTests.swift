import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("A name is the same user in its composed and in its decomposed form")
struct NameFormTests {
  private let composed = "Jos\u{E9} \u{1EC7}"
  private let decomposed = "Jose\u{301} e\u{302}\u{323}"

  private func names(_ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      "SELECT encode(convert_to(user_ref, 'UTF8'), 'hex') FROM analysis.account ORDER BY 1")
  }

  private func hexadecimal(_ text: String) -> String {
    text.utf8.map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }.joined()
  }

  @Test("to commands, manifests and imports; encrypted images open")
  func commands() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      var control = queue.control
      control.environment["ANALYSIS_KEY_FILE"] = files.path("image.keys")
      #expect(await control("keys", "new").code == .done)
      #expect(await control("users", "add", decomposed).code == .done)
      #expect(await control("users", "add", composed).code != .internalError)
      for (index, user) in [composed, decomposed].enumerated() {
        control.runKey = "run-\(index)"
        try files.write(TinyPicture.png(grey: UInt8(index)), to: "a\(index).png")
        try files.write(TinyPicture.png(grey: UInt8(10 + index)), to: "b\(index).png")
        try files.write("file,user,type\nb\(index).png,\(user),ear\n", to: "list.csv")
        let one = await control("submit", "--user", user, "--type", "ear", files.path("a\(index).png"))
        #expect(one.code == .done, "\(one.messages)")
        control.runKey = "list-\(index)"
        #expect(await control("submit", "--manifest", files.path("list.csv")).code == .done)
        try files.write("user,name\n\(user),A\(index)\n", to: "users.csv")
        #expect(await control("users", "import", files.path("users.csv")).code == .done)
        #expect(await control("users", "show", user).output.contains("A\(index)"))
        #expect(await control("jobs", "list", "--user", user).code == .done)
        #expect(try await queue.count("job") == (index + 1) * 2)
      }
      #expect(try await names(queue) == [hexadecimal(composed)])
      #expect(
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.image i JOIN analysis.account a USING (shard, user_id)
          WHERE i.encrypted_by IS NOT NULL AND i.user_sha256 IS NULL
            AND a.user_ref IS NFC NORMALIZED
          """) == 4)
      #expect(await control("clinics", "add", decomposed).code == .done)
      #expect(await control("clinics", "assign", decomposed, composed).code == .done)
      #expect(await control("clinics", "show", composed).code == .done)
    }
  }

  @Test("to the functions of SQL, in each shard")
  func functions() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser(composed)
      let picture = "decode('89504e470d0a1a0a', 'hex')"
      for user in [composed, decomposed] {
        #expect(
          try await queue.texts(
            "SELECT outcome FROM analysis.submit_image('\(user)', 'ear', \(picture), '\(user.utf8.count)')")
            == ["created"])
        #expect(
          try await queue.texts(
            """
            SELECT outcome FROM analysis.submit_images(ARRAY['\(user)', '\(composed)'], ARRAY['ear', 'ear'],
              ARRAY[\(picture), \(picture)], p_batch => NULL, p_references => ARRAY['r1', 'r2'])
            """) == ["created", "created"])
      }
      #expect(try await queue.number("SELECT count(DISTINCT user_id)::int FROM analysis.job") == 1)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job_label") == 4)
      #expect(try await names(queue).count == 1)
      #expect(
        try await queue.number(
          "SELECT (analysis.shard_of('\(composed)') = analysis.shard_of('\(decomposed)'))::int") == 1)
    }
  }

  @Test(
    "also where it was added before names were composed; who would be taken for another has the number behind it"
  )
  func migrated() async throws {
    try await withQueue(from: nil) { (queue) async throws in
      try await queue.makeReleasedSchema(
        then: """
          INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt)
          SELECT 0, nextval('analysis.user_id'), u, 'UTC', sha256(convert_to(u, 'UTF8'))
          FROM unnest(ARRAY['\(composed)', '\(decomposed)', 'Zoe\u{308}']) u;
          INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
          SELECT 0, a.user_id, '-infinity', 1 FROM analysis.account a
          """)
      _ = try await Migrator(queue.pool).migrate()
      let number = try await queue.number("SELECT max(user_id)::int - 1 FROM analysis.account")
      #expect(
        try await names(queue)
          == [composed, "\(composed) #\(number)", "Zo\u{EB}"].map(hexadecimal).sorted())
      #expect(await queue.control("users", "show", "Zoe\u{308}").code == .done)
    }
  }

  @Test("also where it is a former name that was kept before names were composed")
  func former() async throws {
    try await withQueue(shards: 64) { (queue) async throws in
      let natural = try await queue.number("SELECT analysis.shard_of('\(composed)')::int")
      let shard = (natural + 1) % 64
      let users = try await queue.addUsers(1, inShard: shard)
      try await queue.execute(
        """
        INSERT INTO analysis.renamed (name_sha256, shard, user_id, since)
        SELECT sha256(convert_to(normalize('\(composed)', NFD), 'UTF8')), a.shard, a.user_id, now()
        FROM analysis.account a WHERE a.user_ref = '\(users[0])'
        """)
      try await queue.addUser("other")
      for name in [composed, decomposed] {
        #expect(try await queue.number("SELECT analysis.shard_of('\(name)')::int") == shard)
        #expect(await queue.control("users", "add", name).code == .refused)
        #expect(await queue.control("users", "rename", "other", name, "--yes").code == .refused)
      }
      // Whose it was may have it again; and who has it now is not taken for them.
      #expect(await queue.control("users", "rename", users[0], composed, "--yes").code == .done)
      #expect(await queue.control("users", "show", decomposed).code == .done)
      try await queue.execute(
        "DELETE FROM analysis.renamed WHERE name_sha256 = sha256(convert_to('\(composed)', 'UTF8'))")
    }
  }
}
