import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("A back-end submits many images in one call")
struct SubmitImagesTests {
  private func with(
    shards: Int = 1, _ body: (QueueFixture, ConnectionPool) async throws -> Void
  ) async throws {
    try await withCheckedQueue { (queue) async throws in
      if shards > 1 {
        try await queue.execute("UPDATE analysis.setting SET value = '\(shards)' WHERE name = 'shards'")
      }
      for user in ["ann", "bob", "cid", "dan"] {
        try await queue.execute(
          "SELECT analysis.add_user(analysis.shard_of('\(user)'), '\(user)', 'free', 'UTC', NULL, NULL)")
      }
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        try await body(queue, login)
      }
    }
  }

  /// Each answer as `outcome reason argument`.
  private func submit(
    _ users: [String?], _ kinds: [String], _ images: [[UInt8]], keys: String = "NULL", more: String = "",
    on login: ConnectionPool
  ) async throws -> [String] {
    let list = images.map { "\(Self.literal($0))::bytea" }
    let names = users.map { $0.map { "'\($0)'" } ?? "NULL" }
    let rows = try await login.query(
      """
      SELECT "position", concat_ws(' ', outcome, reason, argument), job_id IS NOT NULL FROM analysis.submit_images(
        ARRAY[\(names.joined(separator: ","))]::text[], $1, ARRAY[\(list.joined(separator: ","))], \(keys)\(more))
      """, [.array(kinds)])
    for (index, row) in rows.enumerated() {
      #expect(try row.int(0) == index + 1)
      #expect(try row.string(1).hasPrefix("refused") != row.bool(2))
    }
    return try rows.map { try $0.string(1) }
  }

  /// Bytes as PostgreSQL reads them under any setting.
  private static func literal(_ bytes: [UInt8]) -> String {
    "E'\\\\x" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
  }

  private static func jpeg(_ number: UInt8) -> [UInt8] { [0xFF, 0xD8, 0xFF, number] }
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]

  @Test("of users of several shards, and is answered in the order of the images", arguments: [1, 7])
  func order(shards: Int) async throws {
    try await with(shards: shards) { (queue, login) async throws in
      let answers = try await submit(
        ["dan", "ann", "cid", "bob", "ann"], ["throat", "ear", "ear", "throat", "ear"],
        [Self.jpeg(1), Self.jpeg(2), Self.png, Self.jpeg(3), Self.jpeg(2)],
        keys: "ARRAY['a', 'b', 'c', 'd', 'b']", on: login)
      #expect(answers == ["created", "created", "created", "created", "duplicate"])
      #expect(
        try await queue.texts(
          "SELECT a.user_ref || j.kind FROM analysis.job j JOIN analysis.account a USING (shard, user_id) ORDER BY 1"
        )
          == ["ann2", "bob1", "cid2", "dan1"])
    }
  }

  @Test("What is refused names its argument, and stops no other")
  func arguments() async throws {
    try await with { (queue, login) async throws in
      let answers = try await submit(
        [nil, "nobody", "ann", "ann", "ann", "ann"], ["ear", "ear", "nose", "ear", "ear", "ear"],
        [Self.png, Self.png, Self.png, [1, 2, 3], Self.png, Self.png],
        keys: "ARRAY[NULL, NULL, NULL, NULL, repeat('k', 201), NULL]", on: login)
      #expect(
        answers == [
          "refused bad_argument p_users", "refused unknown_user p_users", "refused bad_argument p_kinds",
          "refused not_an_image p_images", "refused bad_argument p_keys", "created",
        ])
      let moments = try await submit(
        ["ann", "ann", "ann"], ["ear", "ear", "ear"], [Self.png, Self.png, Self.png],
        more: ", ARRAY['normal', 'soon', 'bulk'], ARRAY['infinity', NULL, NULL]::timestamptz[], "
          + "ARRAY[NULL, NULL, '2020-01-01']::timestamptz[]", on: login)
      #expect(
        moments == [
          "refused bad_argument p_at", "refused bad_argument p_priorities", "refused expired p_expires",
        ])
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 1)
    }
  }

  @Test("The monthly limit refuses those for which no unit is left, the later ones first")
  func limit() async throws {
    try await with { (_, login) async throws in
      let answers = try await submit(
        Array(repeating: "ann", count: 6), Array(repeating: "ear", count: 6), (1...6).map { Self.jpeg($0) },
        on: login)
      #expect(answers == Array(repeating: "created", count: 5) + ["refused quota p_users"])
    }
  }

  @Test(
    "Who asks for errors gets a state, the reason with the argument, and what to do; nothing is submitted",
    arguments: [
      ("nobody", "ear", Self.png, "P0002", "reason: unknown_user; image: 2; argument: p_users"),
      ("ann", "nose", Self.png, "22023", "reason: bad_argument; image: 2; argument: p_kinds"),
      ("ann", "ear", [1], "22023", "reason: not_an_image; image: 2; argument: p_images"),
    ])
  func errors(user: String, kind: String, image: [UInt8], state: String, detail: String) async throws {
    try await with { (queue, login) async throws in
      let error = await #expect(throws: PostgreSQLError.self) {
        try await submit(
          ["ann", user], ["ear", kind], [Self.jpeg(1), image], more: ", p_errors => true", on: login)
      }
      #expect(error?.sqlState == state)
      // Our errors leave out the server's details, which hold values of others; a back-end's driver has this one.
      let told = await #expect(throws: PostgreSQLError.self) {
        try await login.execute(
          script: """
            DO $$ DECLARE v_detail text; BEGIN
              PERFORM analysis.submit_images('{ann,\(user)}', '{ear,\(kind)}', ARRAY[E'\\\\xffd8ff', \(Self.literal(image))]::bytea[],
                p_errors => true);
            EXCEPTION WHEN OTHERS THEN
              GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL;
              RAISE EXCEPTION '%', v_detail;
            END $$
            """)
      }
      #expect(told?.message == detail)
      #expect(error?.hint?.isEmpty == false)
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 0)
      #expect(
        try await submit(["ann"], ["ear"], [Self.png], more: ", p_errors => true", on: login) == ["created"])
    }
  }

  @Test("An image in plaintext is refused by the word that is documented, with its argument and state")
  func plaintext() async throws {
    try await with { (queue, login) async throws in
      try await queue.execute("UPDATE analysis.setting SET value = 'yes' WHERE name = 'require_encryption'")
      #expect(
        try await submit(["ann"], ["ear"], [Self.png], on: login) == ["refused plaintext_refused p_images"])
      let error = await #expect(throws: PostgreSQLError.self) {
        try await submit(["ann"], ["ear"], [Self.png], more: ", p_errors => true", on: login)
      }
      #expect(error?.sqlState == "42501")
    }
  }

  @Test("Every reason for which an image can be refused has a state and an advice for who asks for errors")
  func advice() async throws {
    try await with { (queue, _) async throws in
      for reason in [
        "quota", "waiting_limit", "queue_full", "storage_full", "unknown_user", "key_conflict",
        "not_an_image", "plaintext_refused", "no_partition", "expired", "bad_argument",
      ] {
        let row = try await queue.pool.query(
          "SELECT o_state, o_advice FROM analysis.refusal_advice($1)", [.text(reason)]
        ).single()
        #expect(try row.string(0).count == 5 && row.string(1).hasSuffix("."), "\(reason)")
      }
    }
  }

  @Test("One image that has no signature of a JPEG or a PNG is refused too, before anything is charged")
  func single() async throws {
    try await with { (queue, login) async throws in
      for image in [[], [0xFF], [0xFF, 0xD8], [0x89, 0x50, 0x4E, 0x47], Array("GIF89a".utf8)] {
        let row = try await login.query(
          "SELECT outcome, reason FROM analysis.submit_image('ann', 'ear', \(Self.literal(image))::bytea)"
        ).single()
        #expect(try row.string(1) == "not_an_image", "\(image)")
      }
      #expect(try await queue.number("SELECT coalesce(sum(used), 0) FROM analysis.usage") == 0)
    }
  }
}
