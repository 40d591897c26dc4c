import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("What each login may not do, it cannot")
struct LoginAttackTests {
  /// What came of a statement: its rows as the server writes them, or the refusal.
  private enum Came {
    case rows([String])
    case refusal(state: String?, words: String)
  }

  private func attempt(_ sql: String, on login: ConnectionPool) async throws -> Came {
    do {
      guard sql.hasPrefix("SELECT") else { return .rows(try await login.query(sql).map { _ in "a row" }) }
      return .rows(try await login.query("SELECT t::text FROM (\(sql)) t").map { try $0.string(0) })
    } catch let error as PostgreSQLError {
      guard error.sqlState != nil else { throw error }
      return .refusal(state: error.sqlState, words: "\(error)")
    }
  }

  private func judge(_ attack: SQLAttack, _ sql: String, _ came: Came) {
    let shown =
      switch came {
      case .rows(let rows): rows.joined(separator: "\n")
      case .refusal(_, let words): words
      }
    let secrets = [
      AttackedDatabase.mark, "sue-south", AttackedDatabase.mark.utf8.map { String($0, radix: 16) }.joined(),
    ]
    #expect(
      !secrets.contains { shown.contains($0) },
      "\(attack.testDescription) was shown another's data: \(sql): \(shown)")
    switch (attack.outcome, came) {
    case (.refused(let expected), .refusal(let state, let words)):
      #expect(state == expected, "\(attack.testDescription): \(sql): \(words)")
    case (.nothing, .rows(let rows)):
      #expect(
        rows.allSatisfy { $0.wholeMatch(of: /\(?[f,{}"]*\)?/) != nil },
        "\(attack.testDescription): \(sql): \(rows)")
    case (.answers(let answer), .rows):
      #expect(shown == answer, "\(attack.testDescription): \(sql)")
    case (.tellsNothing, _):
      break
    // The server's own answer to `row_security = off`.
    case (_, .refusal("42501", let words)) where words.contains("row-level security policy"):
      break
    case (_, .rows(let rows)):
      Issue.record("\(attack.testDescription) was not refused: \(sql): \(rows)")
    case (_, .refusal(let state, let words)):
      Issue.record("\(attack.testDescription) was refused with \(state ?? "-"): \(sql): \(words)")
    }
  }

  @Test(
    "Each attack of a login ends as the table says, whatever its session has set, and nothing is changed",
    arguments: Attacker.allCases, ["", HostileSettings.script])
  func attacks(by attacker: Attacker, with settings: String) async throws {
    let attacks = SQLAttack.all.filter { $0.by == attacker }
    try #require(!attacks.isEmpty)
    try await AttackedDatabase.with { database in
      try await database.login(as: attacker) { login, name in
        // Timeouts are against accidents: an attacker has none.
        try await login.execute(
          script:
            "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0")
        try await login.execute(script: settings)
        // What the tables' own texts mean is the caller's affair.
        try await login.execute(script: "SET array_nulls = on")
        let before = try await database.fingerprint()
        for attack in attacks {
          let sql = database.filled(attack.sql, me: name)
          judge(attack, sql, try await attempt(sql.replacing("'\\x", with: "E'\\\\x"), on: login))
        }
        #expect(try await database.fingerprint() == before)
      }
      try await database.queue.expectInvariants()
    }
  }
}
