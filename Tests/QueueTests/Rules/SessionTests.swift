import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("Sessions of users' apps")
struct SessionTests {
  private func begin(
    _ queue: QueueFixture, _ number: Int, user: String = "ann", name: String? = nil,
    on gateway: ConnectionPool? = nil
  ) async throws -> Int? {
    _ = try await queue.pool.query(
      "SELECT analysis.add_login_code(0::smallint, $1, sha256($2::text::bytea))",
      [.text(user), .text("code \(number)")])
    return try await use(queue, "code \(number)", number, name: name, on: gateway)
  }

  /// Begins a session whose tokens are called by a number.
  private func use(
    _ queue: QueueFixture, _ code: String, _ number: Int, name: String? = nil,
    on gateway: ConnectionPool? = nil
  ) async throws -> Int? {
    try await (gateway ?? queue.pool).query(
      """
      SELECT analysis.gateway_begin_session(0::smallint, sha256($1::text::bytea), $2, 'phone',
        sha256($3::text::bytea), sha256($4::text::bytea), sha256($5::text::bytea))
      """,
      [
        .text(code), .text(name), .text("access \(number)"), .text("family \(number)"),
        .text("turn \(number)"),
      ]
    ).single().intIfPresent(0)
  }

  private func renew(_ queue: QueueFixture, _ number: Int, by turn: String, to next: String) async throws
    -> Int?
  {
    try await queue.pool.query(
      """
      SELECT analysis.gateway_renew_session(0::smallint, sha256($1::text::bytea), sha256($2::text::bytea),
        sha256($3::text::bytea), sha256($4::text::bytea))
      """, [.text("family \(number)"), .text(turn), .text("access of \(next)"), .text(next)]
    ).single().intIfPresent(0)
  }

  /// Which of some access tokens count.
  private func valid(_ queue: QueueFixture, of tokens: String...) async throws -> [String] {
    try await queue.texts(
      """
      SELECT t FROM unnest('{\(tokens.joined(separator: ","))}'::text[]) t
      WHERE EXISTS (SELECT FROM analysis.gateway_user(0::smallint, sha256(t::bytea)))
      """)
  }

  @Test(
    "A code counts once, for an hour, in place of the one before, and with the user's own name or address")
  func code() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      try await queue.execute(
        "SELECT analysis.save_profile(0::smallint, 1, NULL, 'Ann@x.org', NULL, NULL, NULL)")
      #expect(try await begin(queue, 1) == 1)
      #expect(try await use(queue, "code 1", 2) == nil)
      #expect(try await begin(queue, 3, name: "bob") == nil)
      #expect(try await use(queue, "code 3", 3, name: "ANN@X.ORG") == 2)
      #expect(try await begin(queue, 4, name: "ann") == 3)
      for number in [5, 6] {
        try await queue.execute(
          "SELECT analysis.add_login_code(0::smallint, 'ann', sha256('code \(number)'))")
      }
      #expect(try await use(queue, "code 5", 5) == nil, "another took its place")
      #expect(
        try await queue.text("SELECT (expires_at - created_at)::text FROM analysis.login_code") == "01:00:00")
      try await queue.execute("UPDATE analysis.login_code SET expires_at = now()")
      #expect(try await use(queue, "code 6", 6) == nil)
    }
  }

  @Test("Of many who use one code at once, one has a session")
  func race() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      try await queue.execute("SELECT analysis.add_login_code(0::smallint, 'ann', sha256('code'))")
      let begun = try await withThrowingTaskGroup(of: Int?.self) { group in
        for number in 1...8 { group.addTask { try await use(queue, "code", number) } }
        return try await group.reduce(into: [Int?]()) { $0.append($1) }
      }
      #expect(begun.compactMap(\.self) == [1])
    }
  }

  @Test("An access token ends after 15 minutes; a session goes on for 90 days from its last renewal")
  func times() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      _ = try await begin(queue, 1)
      let times = """
        SELECT round(extract(epoch FROM expires_at - clock_timestamp()) / 60)::text || ' min '
          || round(extract(epoch FROM renewable_until - clock_timestamp()) / 86400)::text || ' days' FROM analysis.user_token
        """
      #expect(try await queue.text(times) == "15 min 90 days")
      try await queue.execute("UPDATE analysis.user_token SET expires_at = now()")
      #expect(try await valid(queue, of: "access 1") == [])
      #expect(try await queue.text("SELECT o_state FROM analysis.list_tokens(0::smallint, 'ann')") == "valid")
      #expect(try await renew(queue, 1, by: "turn 1", to: "turn 2") == 1)
      #expect(try await valid(queue, of: "access of turn 2") != [])
      #expect(try await queue.text(times) == "15 min 90 days")
      try await queue.execute("UPDATE analysis.user_token SET renewable_until = now()")
      #expect(try await renew(queue, 1, by: "turn 2", to: "turn 3") == nil)
      #expect(
        try await queue.text("SELECT o_state FROM analysis.list_tokens(0::smallint, 'ann')") == "expired")
    }
  }

  @Test("A refresh token that comes a second time ends the session, and no other")
  func replay() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      _ = try await begin(queue, 1)
      _ = try await begin(queue, 2)
      #expect(try await renew(queue, 1, by: "turn 1", to: "next") == 1)
      #expect(try await valid(queue, of: "access 1", "access of next") == ["access of next"])
      #expect(try await renew(queue, 1, by: "turn 1", to: "stolen") == nil)
      #expect(try await valid(queue, of: "access of next", "access of stolen") == [])
      #expect(try await renew(queue, 1, by: "next", to: "after") == nil)
      #expect(try await valid(queue, of: "access 2") != [])
    }
  }

  @Test("The office ends sessions with the tokens; an erasure ends them with the code")
  func ended() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      _ = try await begin(queue, 1)
      _ = try await begin(queue, 2)
      #expect(try await queue.number("SELECT analysis.revoke_tokens(0::smallint, 'ann', 1)") == 1)
      #expect(try await renew(queue, 1, by: "turn 1", to: "next") == nil)
      #expect(try await valid(queue, of: "access 2") != [])
      try await queue.execute("SELECT analysis.add_login_code(0::smallint, 'ann', sha256('late'))")
      #expect(try await queue.number("SELECT analysis.revoke_tokens(0::smallint, 'ann', NULL)") == 1)
      #expect(try await valid(queue, of: "access 2") == [])
      #expect(try await use(queue, "late", 3) == nil)
      _ = try await begin(queue, 4, user: "bob")
      try await queue.execute("SELECT analysis.add_login_code(0::smallint, 'bob', sha256('late'))")
      _ = try await queue.pool.query("SELECT analysis.erase_user(0::smallint, 'bob', NULL, true)")
      #expect(try await renew(queue, 4, by: "turn 4", to: "next") == nil)
      #expect(try await use(queue, "late", 5) == nil)
      #expect(try await queue.count("login_code") == 0)
    }
  }

  @Test("A user has 20 sessions: one more ends the one that was renewed longest ago")
  func room() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      for number in 1...20 { _ = try await begin(queue, number) }
      #expect(try await renew(queue, 1, by: "turn 1", to: "next") == 1)
      #expect(try await begin(queue, 21) == 21)
      #expect(
        try await valid(queue, of: "access of next", "access 2", "access 3", "access 21")
          == ["access of next", "access 3", "access 21"])
      // Tokens of back-ends have a bound of their own.
      #expect(
        try await queue.number("SELECT analysis.add_token(0::smallint, 'ann', sha256('own'), NULL, NULL)")
          == 22)
    }
  }

  @Test("A gateway of some clinics begins and renews no session of another's patient")
  func clinics() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute("SELECT analysis.add_clinic('north')")
      try await queue.addUser("ann")
      try await withLogin("gateway", of: ["gateway"], in: queue) { (gateway) async throws in
        try await queue.execute(
          "SELECT analysis.grant_clinics('\(queue.database.name)_gateway', '{north}')")
        #expect(try await begin(queue, 1, on: gateway) == nil)
        #expect(try await use(queue, "code 1", 1) == 1)
        let renewed = try await gateway.query(
          """
          SELECT analysis.gateway_renew_session(0::smallint, sha256('family 1'), sha256('turn 1'), sha256('a'), sha256('b'))
          """
        ).single().intIfPresent(0)
        #expect(renewed == nil)
        #expect(try await renew(queue, 1, by: "turn 1", to: "next") == 1, "and it goes on")
      }
    }
  }

  @Test("A token, a family or a code that there is already is refused in the queue's own words")
  func takenHash() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      #expect(try await begin(queue, 1) == 1)
      #expect(try await begin(queue, 2) == 2)
      try await queue.execute("SELECT analysis.add_login_code(0::smallint, 'ann', sha256('next'))")
      for call in [
        "gateway_begin_session(0::smallint, sha256('next'), NULL, NULL, sha256('access 1'), sha256('f'), sha256('t'))",
        "gateway_begin_session(0::smallint, sha256('next'), NULL, NULL, sha256('a'), sha256('family 1'), sha256('t'))",
        "gateway_renew_session(0::smallint, sha256('family 1'), sha256('turn 1'), sha256('access 2'), sha256('t'))",
        "add_login_code(0::smallint, 'bob', sha256('next'))",
        "add_token(0::smallint, 'bob', sha256('access 1'), NULL, NULL)",
      ] {
        let refused = try await #require(throws: PostgreSQLError.self, "\(call)") {
          try await queue.execute("SELECT analysis.\(call)")
        }
        #expect(refused.sqlState == "22023", "\(call)")
        #expect(refused.message.contains("has this hash already"), "\(refused.message)")
      }
      #expect(try await valid(queue, of: "access 1", "access 2") == ["access 1", "access 2"])
      #expect(try await renew(queue, 1, by: "turn 1", to: "turn 1b") == 1, "what was refused changed nothing")
      #expect(try await use(queue, "next", 3) == 3, "the code still counts")
    }
  }
}
