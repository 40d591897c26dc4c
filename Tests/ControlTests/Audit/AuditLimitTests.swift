import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("A login makes at most 600 entries of the audit a minute")
struct AuditLimitTests {
  /// A call of an administrator's role that makes one entry and changes nothing else.
  private static let call = "SELECT analysis.audit_key('remove_key', 7)"

  /// Lends the connections of a login with the administrator's role, which has a count of its own already.
  private func withLogin(
    named suffix: String = "login", in groups: [String] = ["analysis_administrator"], _ queue: QueueFixture,
    _ body: (_ login: ConnectionPool, _ name: String) async throws -> Void
  ) async throws {
    try await withLoginRole(on: queue.pool, named: suffix, in: groups) { name in
      try await queue.record("thing:\(suffix)")
      try await AuditLog(queue.pool).chain()
      let login = ConnectionPool(queue.database.login(name).configuration, on: queue.loop, size: 4)
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await body(login, name)) } catch { outcome = .failure(error) }
      await login.close()
      try outcome.get()
    }
  }

  /// What a body says that begins and ends in one minute of the server's clock; the next minute counts anew.
  private func withinMinute<R>(_ queue: QueueFixture, _ body: () async throws -> R) async throws -> R {
    let minute = "SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::bigint"
    while true {
      let before = try await queue.number(minute)
      let outcome = try await body()
      if try await queue.number(minute) == before { return outcome }
    }
  }

  /// Has it that a login has made so many entries in this minute.
  private func plant(_ count: Int, of name: String, _ queue: QueueFixture) async throws {
    try await queue.execute(
      """
      SELECT setval(format('analysis.audit_count_%s', '\(name)'::regrole::oid)::regclass,
        (floor(extract(epoch FROM clock_timestamp()) / 60)::bigint << 24) + \(count))
      """)
  }

  /// The state of the error of a call; nil when it was done.
  private func refusal(_ login: ConnectionPool, _ sql: String = call) async throws -> String? {
    do {
      _ = try await login.query(SQLStatement(sql))
      return nil
    } catch {
      guard let state = error.sqlState else { throw error }
      return state
    }
  }

  @Test("The next one is refused with what it would record, and says when to come again")
  func refused() async throws {
    try await withCheckedQueue { queue in
      try await withLogin(queue) { login, name in
        let states = try await withinMinute(queue) {
          try await plant(599, of: name, queue)
          return [try await refusal(login), try await refusal(login), try await refusal(login)]
        }
        #expect(states == [nil, "53400", "53400"])
        let error = try await withinMinute(queue) {
          try await plant(600, of: name, queue)
          return await #expect(throws: JobQueueError.self) {
            try await PlanDirectory(login).setLimit(plan: "free", limit: 1)
          }
        }
        #expect(error?.code == .conflict && error?.isTemporary == true)
        #expect(
          error?.message.contains("login \(name) has made 600 entries of the audit in this minute") == true)
        #expect(error?.advice?.hasPrefix("Do it again in the next minute.") == true)
        #expect(try await queue.count("plan_limit WHERE monthly_limit = 1") == 0)
        // Nobody but the owner reaches what counts.
        let own = try await queue.text("SELECT 'analysis.audit_count_' || '\(name)'::regrole::oid")
        for sequence in ["analysis.audit_count", own] {
          for sql in ["setval('\(sequence)', 1)", "nextval('\(sequence)')"] {
            #expect(try await refusal(login, "SELECT \(sql)") == "42501", "\(sql)")
          }
        }
        for function in ["count_entry", "count_logins", "forget_logins"] {
          #expect(try await refusal(login, "SELECT analysis.\(function)()") == "42501", "\(function)")
        }
        // In the next minute it counts anew.
        try await plant(-(1 << 24) + 5000, of: name, queue)
        #expect(try await refusal(login) == nil)
      }
    }
  }

  @Test("A gateway, which reads for many persons who each ask for their own, makes 6000")
  func gateway() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("ann")
      try await queue.addToken("ann")
      _ = try await queue.create([Ask("ann")])
      _ = try await queue.complete(try await queue.claim())
      try await withLogin(in: ["analysis_gateway"], queue) { login, name in
        let call = "SELECT analysis.gateway_open_history(0::smallint, sha256('ann'), NULL, 1)"
        let states = try await withinMinute(queue) {
          try await plant(5999, of: name, queue)
          return [try await refusal(login, call), try await refusal(login, call)]
        }
        #expect(states == [nil, "53400"])
      }
    }
  }

  @Test("What is rolled back counts, also to a savepoint")
  func rolledBack() async throws {
    try await withCheckedQueue { queue in
      try await withLogin(queue) { login, name in
        let state = try await withinMinute(queue) {
          try await plant(0, of: name, queue)
          for _ in 0..<2 {
            try await login.execute(
              script: """
                BEGIN; SAVEPOINT s; SELECT count(analysis.audit_key('remove_key', n)) FROM generate_series(1, 150) n;
                ROLLBACK TO s; SELECT count(analysis.audit_key('remove_key', n)) FROM generate_series(1, 150) n; ROLLBACK
                """)
          }
          return try await refusal(login)
        }
        #expect(state == "53400")
      }
    }
  }

  @Test("Of many at once no more get through, and none waits for a transaction that stays open")
  func concurrency() async throws {
    try await withCheckedQueue { queue in
      try await withLogin(queue) { login, name in
        try await login.withConnection { open in
          let states = try await withinMinute(queue) {
            try await plant(590, of: name, queue)
            try await open.execute(script: "BEGIN; \(Self.call)")
            let states = try await withThrowingTaskGroup(of: String?.self) { group in
              for _ in 0..<30 { group.addTask { try await refusal(login) } }
              return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            try await open.execute(script: "ROLLBACK")
            return states
          }
          #expect(states.count { $0 == nil } == 9)
          #expect(states.count { $0 == "53400" } == 21)
        }
      }
    }
  }

  @Test("One login uses up nothing of another's, and the owner and superusers are not counted")
  func others() async throws {
    try await withCheckedQueue { queue in
      try await withLogin(queue) { login, name in
        try await withLogin(named: "other", queue) { other, _ in
          try await withLogin(named: "upgrades", in: ["analysis_owner"], queue) { owner, _ in
            let states = try await withinMinute(queue) {
              try await plant(600, of: name, queue)
              return [try await refusal(login), try await refusal(other)]
            }
            #expect(states == ["53400", nil])
            let many = "SELECT count(analysis.audit_key('remove_key', n)) FROM generate_series(1, 1300) n"
            #expect(try await refusal(owner, many) == nil)
            #expect(try await refusal(queue.pool, many) == nil)
            // Whatever minute it is in the middle of it.
            #expect(try await refusal(other, many) == "53400")
          }
        }
      }
    }
  }

  @Test("A login has a count of its own when the audit is chained next; until then all new ones share one")
  func newLogins() async throws {
    try await withCheckedQueue { queue in
      let own = try await withLoginRole(on: queue.pool, in: ["analysis_administrator"]) { name in
        let number = try await queue.number("SELECT '\(name)'::regrole::oid::bigint")
        let own = "SELECT count(*) FROM pg_class WHERE relname = 'audit_count_\(number)'"
        let login = ConnectionPool(queue.database.login(name).configuration, on: queue.loop, size: 1)
        #expect(try await refusal(login) == nil)
        #expect(try await queue.number(own) == 0)
        #expect(try await queue.number("SELECT last_value & 1023 FROM analysis.audit_count") == 1)
        try await AuditLog(queue.pool).chain()
        #expect(try await queue.number(own) == 1)
        #expect(try await refusal(login) == nil)
        #expect(try await queue.number("SELECT last_value & 1023 FROM analysis.audit_count") == 1)
        await login.close()
        return own
      }
      // And none when it is gone and the rights are applied again, as migrate does.
      try await queue.execute("SELECT analysis.apply_rights()")
      #expect(try await queue.number(own) == 0)
    }
  }
}
