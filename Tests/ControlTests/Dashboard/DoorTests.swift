import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import HTTPServing
@testable import Support

@Suite("Who is let into the dashboard, and whose forms count", .onOwnThread)
struct DoorTests {
  private static let secret = "correct-horse-battery"
  private static let name = ["Host": "analysis.example.org"]

  /// A form that is sent as the arguments say, to what verifies the audit.
  private func sent(
    _ headers: [String: String] = [:], token: String? = nil, cookie: Bool = true
  ) async throws -> Int {
    var status = 0
    try await withQueue { (queue) async throws in
      try await withDashboard(queue.pool) { (served) async throws in
        let (given, good) = try served.form("/audit/verify")
        var headers = headers
        if cookie { headers["Cookie"] = given }
        status = try served.request(
          "POST", "/audit/verify", headers, form: "token=\(token ?? good)"
        ).status
      }
    }
    return status
  }

  @Test("A form from the dashboard's own page counts")
  func own() async throws {
    #expect(try await sent() == 303)
    #expect(try await sent(["Sec-Fetch-Site": "same-origin"]) == 303)
  }

  @Test(
    "A form of another site, or of another reader, does not",
    arguments: [
      ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
      ["Origin": "https://evil.example.org"], ["Origin": "null"], ["Origin": "http://localhost:1"],
    ])
  func foreign(headers: [String: String]) async throws {
    #expect(try await sent(headers) == 403)
  }

  @Test("A form without the reader's own token does not count")
  func token() async throws {
    #expect(try await sent(token: "") == 403)
    #expect(try await sent(token: String(repeating: "0", count: 64)) == 403)
    #expect(try await sent(cookie: false) == 403)
  }

  @Test("A message is said once, to the reader whose it is, and not to what brings the page up to date")
  func messages() async throws {
    try await withQueue { (queue) async throws in
      try await withDashboard(queue.pool) { (served) async throws in
        let (cookie, token) = try served.form("/audit/verify")
        _ = try served.request("POST", "/audit/verify", ["Cookie": cookie], form: "token=\(token)")
        let message = "The verification has begun."
        #expect(!(try served.get("/audit/verification").text.contains(message)))
        #expect(
          !(try served.get("/audit/verification", ["Cookie": cookie, "X-Live": "1"]).text.contains(message)))
        #expect(try served.get("/audit/verification", ["Cookie": cookie]).text.contains(message))
        #expect(!(try served.get("/audit/verification", ["Cookie": cookie]).text.contains(message)))
      }
    }
  }

  /// A dashboard behind TLS, whose readers show the token.
  private func withToken(
    clock: MovedClock = MovedClock(), _ body: (Served) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await withDashboard(queue.pool, { .token(Secret(Self.secret), $0) }, clock: clock, body)
    }
  }

  private func logIn(_ served: Served, _ token: String, _ headers: [String: String] = [:]) throws
    -> RawClient.Response
  {
    try served.request("POST", "/log-in", headers, form: "token=\(token)")
  }

  private func cookie(_ answer: RawClient.Response) -> String {
    answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? ""
  }

  @Test("With a token nothing is shown before it was entered, and the cookie that it gives is strict")
  func entered() async throws {
    try await withToken { (served) async throws in
      for path in ["/", "/workers", "/usage", "/audit", "/audit/verify", "/events"] {
        let answer = try served.get(path)
        #expect(answer.status == 303 && answer.headers["location"] == "/log-in", "\(path)")
      }
      #expect(!(try served.get("/log-in").text.contains("<nav")))
      let answer = try logIn(served, Self.secret)
      #expect(answer.status == 303 && answer.headers["location"] == "/")
      let given = try #require(answer.headers["set-cookie"])
      #expect(
        given.hasSuffix("; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=28800")
          && given.hasPrefix("__Host-analysis_session="))
      #expect(try served.get("/", ["Cookie": cookie(answer)]).status == 200)
    }
  }

  @Test("A session that a browser brings along is worth nothing, and one that was ended neither")
  func fixation() async throws {
    try await withToken { (served) async throws in
      let planted = "__Host-analysis_session=" + String(repeating: "a", count: 64)
      #expect(try served.get("/", ["Cookie": planted]).status == 303)
      let answer = try logIn(served, Self.secret, ["Cookie": planted])
      #expect(cookie(answer) != planted)
      #expect(try served.get("/", ["Cookie": planted]).status == 303)
      let (own, token) = try served.form("/audit/verify", ["Cookie": cookie(answer)])
      let ended = try served.request("POST", "/log-out", ["Cookie": own], form: "token=\(token)")
      #expect(ended.status == 303 && ended.headers["set-cookie"]?.contains("Max-Age=0") == true)
      #expect(try served.get("/", ["Cookie": own]).status == 303)
    }
  }

  @Test("A session ends after eight hours")
  func lifetime() async throws {
    let clock = MovedClock()
    try await withToken(clock: clock) { (served) async throws in
      let own = cookie(try logIn(served, Self.secret))
      clock.pass(.seconds(8 * 3600 - 1))
      #expect(try served.get("/audit/verification", ["Cookie": own]).status == 200)
      clock.pass(.seconds(1))
      #expect(try served.get("/audit/verification", ["Cookie": own]).status == 303)
    }
  }

  @Test("Whoever has the token is let in, however often others tried wrong ones")
  func guessed() async throws {
    try await withToken { (served) async throws in
      for number in 0..<20 {
        let refused = try logIn(served, "guess\(number)")
        // The form is there to be filled in once more.
        #expect(refused.status == 403 && refused.text.contains("role=\"alert\""))
        #expect(refused.text.contains("<form"))
      }
      #expect(try logIn(served, Self.secret).status == 303)
    }
  }
}
