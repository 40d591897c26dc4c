import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images

@Suite("analysisctl users token, against a server")
struct UserTokenCommandTests {
  @Test(
    "add prints the token once, of which the database has the hash alone; list and revoke know its number")
  func life() async throws {
    try await withQueue(shards: 4) { (queue) async throws in
      let user = try await queue.addUsers(1, inShard: 3)[0]
      let control = queue.control
      #expect(await control("users", "token", "list", user).output == "No tokens.\n")
      let added = await control(
        "users", "token", "add", user, "--label", "phone", "--expires", "90d", "--reason", "request 9")
      #expect(added.code == .done, "\(added.messages)")
      #expect(added.lines[0].hasPrefix("added token 1 of \(user), until 20"))
      let token = try #require(UserToken(added.lines[1]))
      #expect(token.shard == 3)
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.gateway_user(3::smallint, $1) WHERE o_user = '\(user)'",
          [.bytes(token.hash)])
          == 1)
      // Neither the table nor the audit has it.
      let traces = """
        SELECT count(*)::int FROM (SELECT to_jsonb(t)::text FROM analysis.user_token t
          UNION ALL SELECT to_jsonb(d)::text FROM analysis.audit_entry d) x(text) WHERE text LIKE '%\(token.text.suffix(20))%'
        """
      #expect(try await queue.number(traces) == 0)
      let second = await control("users", "token", "add", user, "--json")
      #expect(second.output.contains(#""token":2,"secret":"aq1.3."#), "\(second.output)")

      let list = await control("users", "token", "list", user)
      #expect(list.lines.count == 3 && list.lines.allSatisfy { $0.count <= 80 }, "\(list.output)")
      #expect(list.lines[1].contains("1  phone  valid"), "\(list.output)")
      #expect(!list.output.contains("aq1"))
      #expect(await control("users", "token", "revoke", user, "1").output == "revoked a token of \(user)\n")
      #expect(
        await control("users", "token", "revoke", user, "1").output == "no token of \(user) was valid\n")
      #expect(
        await control("users", "token", "revoke", user, "--all").output == "revoked a token of \(user)\n")
      let json = await control("users", "token", "list", user, "--json")
      #expect(json.output.components(separatedBy: #""state":"revoked""#).count == 3, "\(json.output)")
      // A number is never given again.
      #expect(await control("users", "token", "add", user).lines[0] == "added token 3 of \(user)")
      let audit = await control("audit", "list", "--user", user, "--json")
      for word in ["add_token", "revoke_token", "request 9"] {
        #expect(audit.output.contains(word), "\(word)")
      }
    }
  }

  @Test("code prints a code for the user's app, of which the database has the hash alone, and its QR code")
  func code() async throws {
    try await withQueue(shards: 4) { (queue) async throws in
      let user = try await queue.addUsers(1, inShard: 3)[0]
      let made = await queue.control("users", "code", user, "--reason", "request 9")
      #expect(made.code == .done, "\(made.messages)")
      #expect(made.lines[0].hasPrefix("code for \(user), until 20"))
      let code = try #require(LoginCode(made.lines[1]))
      #expect(made.lines[1].wholeMatch(of: /([0-9A-HJKMNP-TV-Z]{4}-){4}3/) != nil && code.shard == 3)
      #expect(
        made.lines[2...].dropLast().allSatisfy { $0.count <= 80 && $0.hasPrefix("██") || $0.hasPrefix("▀▀") })
      #expect(
        try await queue.number(
          """
          SELECT analysis.gateway_begin_session(3::smallint, $1, $2, 'phone', sha256('a'), sha256('f'), sha256('t'))
          """, [.bytes(code.hash), .text(user)]) == 1)
      let list = await queue.control("users", "token", "list", user)
      #expect(list.lines[1].contains("1  app: phone  valid"), "\(list.output)")
      let traces =
        "SELECT count(*)::int FROM analysis.audit_entry d WHERE to_jsonb(d)::text LIKE '%\(made.lines[1])%'"
      #expect(try await queue.number(traces) == 0)
      let audit = await queue.control("audit", "list", "--user", user, "--json")
      for word in ["add_login_code", "begin_session", "request 9"] {
        #expect(audit.output.contains(word), "\(word)")
      }
      #expect(await queue.control("users", "code", "nobody").code == .refused)
      #expect(await queue.control("users", "code", user, "--json").output.contains(#""code":""#))
    }
  }

  @Test("A QR code has its three corners and the light border that readers need")
  func corners() throws {
    let rows = try #require(QRCode("7K3M-Q9TX-2B4W-HN8R")).rows
    #expect(rows.count == 29 && rows.allSatisfy { $0.count == 29 })
    #expect(rows[0...3].joined().allSatisfy { !$0 } && rows[25...].joined().allSatisfy { !$0 })
    let corner = ["#######.", "#.....#.", "#.###.#.", "#.###.#.", "#.###.#.", "#.....#.", "#######."]
    for (top, left, isMirrored) in [(4, 4, false), (4, 17, true), (18, 4, false)] {
      for (y, line) in corner.enumerated() {
        let wanted = Array(isMirrored ? String(line.reversed()) : line).map { $0 == "#" }
        #expect(Array(rows[top + y][left..<left + 8]) == wanted)
      }
    }
  }

  @Test("What cannot be is refused with its exit code, and nothing is left")
  func refused() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let control = queue.control
      for (words, code) in [
        (["add", "nobody"], .refused), (["list", "nobody"], .refused),
        (["revoke", "nobody", "--all"], .refused),
        (["revoke", "u1", "7"], .refused), (["revoke", "u1"], .usage),
        (["revoke", "u1", "7", "--all"], .usage),
        (["add", "u1", "--expires", "soon"], .usage), (["add", "u1", "--expires", "0s"], .usage),
        (["add", "u1", "--expires", "2020-01-01"], .refused),
        (["add", "u1", "--expires", "2020-01-01T00:00:00Z"], .refused),
        (["add", "u1", "--label", String(repeating: "x", count: 101)], .refused),
      ] as [([String], ExitCode)] {
        let ran = await control.run(["users", "token"] + words)
        #expect(ran.code == code, "\(words): \(ran.code) \(ran.messages)")
      }
      #expect(try await queue.count("user_token") == 0)
    }
  }

  @Test("A day ends with itself, by UTC", arguments: [("2099-12-31", "2100-01-01 00:00:00+00")])
  func day(given: String, expires: String) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      #expect(await queue.control("users", "token", "add", "u1", "--expires", given).code == .done)
      #expect(
        try await queue.text("SELECT (expires_at AT TIME ZONE 'UTC')::text || '+00' FROM analysis.user_token")
          == expires)
    }
  }

  @Test("An export lists them without the hash, and an erasure removes them; a rename keeps them")
  func person() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let control = queue.control
      #expect(await control("users", "token", "add", "u1", "--label", "tablet").code == .done)
      #expect(await control("users", "rename", "u1", "u2", "--yes").code == .done)
      #expect(await control("users", "token", "list", "u2").output.contains("tablet"))
      let files = try TemporaryFolder()
      let exported = await control("users", "export", "u2", "--out", files.path("u2"))
      #expect(exported.code == .done, "\(exported.messages)")
      let text = try files.text("u2/data.json")
      #expect(text.contains("tablet") && !text.contains("hash"), "\(text)")
      #expect(await control("erase", "--user", "u2", "--confirm", "u2").code == .done)
      #expect(try await queue.count("user_token") == 0)
    }
  }
}
