import PostgreSQL
import QueueTestSupport
import Testing

@Suite("A value that breaks a rule is refused, and no row is shown")
struct RefusedValueTests {
  @Test(
    "but the name of the column",
    arguments: [
      (
        "SELECT analysis.add_user(0::smallint, 'p1', NULL, NULL, 'Secret Name', repeat('secret@', 60))",
        "email of profile"
      ),
      ("SELECT analysis.add_user(0::smallint, 'p1', NULL, 'EST', 'Secret Name', NULL)", "zone of account"),
      ("SELECT analysis.set_zone(0::smallint, 'secret-u', 'EST')", "zone of account"),
      (
        "SELECT analysis.save_profile(0::smallint, user_id, 'Secret Name', repeat('secret@', 60), NULL, NULL, NULL) FROM analysis.account",
        "email of profile"
      ),
      ("SELECT analysis.set_photo(0::smallint, 'secret-u', repeat('secret', 500))", "photo_url of profile"),
    ])
  func hidden(sql: String, what: String) async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("secret-u")
      let error = await #expect(throws: PostgreSQLError.self) { try await queue.pool.query(sql) }
      #expect(
        error?.sqlState == "22023" && error?.message == "\(what) is missing, too long or invalid"
      )
      #expect(error?.detail == nil)
      #expect(try await queue.number("SELECT count(*) FROM analysis.account") == 1)
    }
  }

  @Test(
    "and where the owner writes one past the functions, it is among the broken invariants",
    arguments: [
      ("job", "max_attempts = 0", "job"), ("job", "lane = 7", "job"), ("job", "kind = 2", "job"),
      ("job", "image_bytes = 0", "job"), ("job", "source_name = repeat('x', 501)", "job"),
      ("job", "key_hash = '1'", "job"), ("idem", "key_hash = '1'", "key"),
      ("idem", "content_hash = '1'", "key"), ("usage", "refunded = -1", "usage"),
      ("admission", "max_all = 5", "admission"), ("admission", "photos_once = true", "admission"),
    ])
  func planted(table: String, change: String, rule: String) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u")
      let job = try await queue.create([Ask("u", key: "visit-1")])[0]
      let broken = "SELECT DISTINCT concat_ws(' ', rule, job_id) FROM analysis.broken_invariants()"
      #expect(try await queue.texts(broken).isEmpty)
      try await queue.execute("UPDATE analysis.\(table) SET \(change)")
      let isOfNoJob = ["usage", "admission"].contains(rule)
      #expect(try await queue.texts(broken).contains(isOfNoJob ? rule : "\(rule) \(job)"))
    }
  }

  @Test(
    "in words that say what a pause is",
    arguments: [
      "'all', 'ear', 'secret'", "'type', '', 'secret'", "'endpoint', '', 'secret'", "'all', '', ''",
    ])
  func pause(arguments: String) async throws {
    try await withCheckedQueue { (queue) async throws in
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.pool.query("SELECT analysis.pause(\(arguments), NULL)")
      }
      #expect(
        error?.sqlState == "22023" && error?.message.hasPrefix("a pause names what is paused") == true,
        "\(String(describing: error))")
    }
  }

  @Test("and a list of lists is refused as no list")
  func lists() async throws {
    try await withCheckedQueue { (queue) async throws in
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.pool.query("SELECT analysis.revoke_clinics('nobody', '{{a, b}, {c, d}}')")
      }
      #expect(error?.sqlState == "22023", "\(String(describing: error))")
    }
  }
}
