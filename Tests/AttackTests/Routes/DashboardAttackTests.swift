import EventLoop
import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import HTTPServing
@testable import Support

/// A request that somebody who reaches the dashboard sends to it, or has a reader's browser send.
struct DashboardAttack: Sendable {
  /// What is tried, in words.
  let tries: String
  let method: String
  let path: String
  var headers: [String: String] = [:]
  /// `{token}` stands for the token of the reader's own form.
  var form = ""
  /// Whether the reader's cookie comes along, as a browser sends it.
  var hasCookie = false
  /// What is answered.
  let statuses: Set<Int>

  private static let verify = "/audit/verify"
  private static let host = "localhost"

  /// On the loopback, where nobody is asked for a token.
  static let onLoopback: [DashboardAttack] = [
    DashboardAttack(
      tries: "has a reader's browser act from another site", method: "POST", path: verify,
      headers: ["Sec-Fetch-Site": "cross-site"], form: "token={token}", hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "has it act from another port of this machine", method: "POST", path: verify,
      headers: ["Origin": "http://localhost:1"], form: "token={token}", hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "has it act from a page in a frame without an origin", method: "POST", path: verify,
      headers: ["Origin": "null"], form: "token={token}", hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "acts without the token of the form", method: "POST", path: verify, hasCookie: true,
      statuses: [403]),
    DashboardAttack(
      tries: "acts with the token of another reader", method: "POST", path: verify, form: "token={token}",
      statuses: [403]),
    DashboardAttack(
      tries: "acts by a link", method: "GET", path: verify + "?token={token}", hasCookie: true,
      statuses: [200]),
    DashboardAttack(
      tries: "sends a form as JSON, which a page may send elsewhere unasked", method: "POST", path: verify,
      headers: ["Content-Type": "text/plain"], form: "{\"token\":\"{token}\"}", hasCookie: true,
      statuses: [415]),
    DashboardAttack(
      tries: "sends a form that is too large", method: "POST", path: verify,
      form: "token={token}&a=" + String(repeating: "x", count: 65_536), hasCookie: true, statuses: [413]),
    DashboardAttack(
      tries: "takes the places of those who listen, by a page of another site", method: "GET",
      path: "/events",
      headers: ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"], statuses: [403]),
    DashboardAttack(
      tries: "reads pages in the background by a page of another site", method: "GET", path: "/audit",
      headers: ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"], hasCookie: true, statuses: [403]
    ),
    DashboardAttack(
      tries: "has the audit record that a picture is read, by a frame of another site", method: "GET",
      path: "/jobs/1/picture",
      headers: [
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe",
      ], hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "reads pages by a name that was made to stand for this machine", method: "GET", path: "/audit",
      headers: ["Host": "rebound.example.org"], statuses: [421]),
    DashboardAttack(
      tries: "puts a header into the answer by the address of a form", method: "GET",
      path: verify + "?a=%0d%0aSet-Cookie:%20x=y", statuses: [200]),
    DashboardAttack(
      tries: "puts markup into a page by its query", method: "GET",
      path: "/audit?action=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", statuses: [200]),
    DashboardAttack(
      tries: "puts SQL into a search", method: "GET", path: "/audit?action=%27%20OR%20true--", statuses: [200]
    ),
    DashboardAttack(
      tries: "has a reader's browser cancel jobs from another site", method: "POST",
      path: "/matching/cancel?state=waiting", headers: ["Sec-Fetch-Site": "cross-site"],
      form: "token={token}&jobs=1", hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "cancels all jobs at once", method: "GET", path: "/matching/cancel", hasCookie: true,
      statuses: [400]),
    DashboardAttack(
      tries: "cancels jobs without end", method: "POST", path: "/matching/cancel?state=waiting",
      form: "token={token}&jobs=1" + String(repeating: ".1", count: 5000), hasCookie: true,
      statuses: [400, 404]),
    DashboardAttack(
      tries: "puts markup into a page by a mark in the list", method: "GET",
      path: "/matching/cancel?chosen=1&job=%3Cscript%3Ealert(1)%3C/script%3E", hasCookie: true,
      statuses: [400]),
    DashboardAttack(
      tries: "marks a job that there is not", method: "GET", path: "/matching/cancel?chosen=1&job=99999999",
      hasCookie: true, statuses: [404]),
    DashboardAttack(
      tries: "changes a job by a link", method: "GET", path: "/jobs/1/cancel?token={token}&jobs=1",
      hasCookie: true, statuses: [404]),
    DashboardAttack(
      tries: "has a reader's browser give a verdict from another site", method: "POST",
      path: "/jobs/1/review",
      headers: ["Sec-Fetch-Site": "cross-site"], form: "token={token}&verdict=disagree", hasCookie: true,
      statuses: [403]),
    DashboardAttack(
      tries: "gives a verdict without the token of the form", method: "POST", path: "/jobs/1/review",
      form: "verdict=disagree", hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "reviews a job that there is not", method: "POST", path: "/jobs/1/review",
      form: "token={token}&verdict=disagree&comment=%3Cscript%3Ealert(1)%3C/script%3E", hasCookie: true,
      statuses: [404]),
    DashboardAttack(
      tries: "gives a verdict by a link", method: "GET",
      path: "/jobs/1/review?verdict=disagree&token={token}",
      hasCookie: true, statuses: [404]),
    DashboardAttack(
      tries: "puts markup into a page by what is to be reviewed", method: "GET",
      path: "/reviews/to-review?condition=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", statuses: [200]),
    DashboardAttack(
      tries: "puts SQL into the list of what is to be reviewed", method: "GET",
      path: "/reviews/to-review?clinic=%27%20OR%20true--", statuses: [200]),
    DashboardAttack(
      tries: "lists what is to be reviewed by names without end", method: "GET",
      path: "/reviews/to-review?clinic=" + String(repeating: "x", count: 201), statuses: [400]),
    DashboardAttack(
      tries: "has a reader's browser show a picture on a page of another site", method: "GET",
      path: "/jobs/1/picture",
      headers: ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"],
      hasCookie: true, statuses: [403]),
    DashboardAttack(
      tries: "leads away by the next review of a list", method: "POST", path: "/jobs/1/review",
      form: "token={token}&verdict=agree&go=next&next=//evil.example.org", hasCookie: true, statuses: [404]),
    DashboardAttack(
      tries: "puts markup into a page by the months of its reviews", method: "GET",
      path: "/reviews?from=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", statuses: [400]),
    DashboardAttack(
      tries: "has reviews of all time added up", method: "GET", path: "/reviews?from=2000-01&to=2699-12",
      statuses: [400]),
    DashboardAttack(
      tries: "puts SQL into a filter of jobs", method: "GET", path: "/jobs?user=%27%20OR%20true--",
      statuses: [200]),
    DashboardAttack(
      tries: "puts markup into a page by a filter", method: "GET",
      path: "/jobs?reference=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", statuses: [200]),
    DashboardAttack(
      tries: "puts markup into a page by signs with accents", method: "GET",
      path: "/jobs?reference=%22%CC%81%3E%CC%81%3Cscript%3E%CC%81alert(1)%3C/script%3E%CC%81", statuses: [200]
    ),
    DashboardAttack(
      tries: "has all jobs taken for those of a user without a name", method: "GET",
      path: "/matching/cancel?user=%00", hasCookie: true, statuses: [400]),
    DashboardAttack(
      tries: "reaches a page by a path that is cut off at a zero byte", method: "GET", path: "/jobs%00/x",
      hasCookie: true, statuses: [400]),
    DashboardAttack(
      tries: "asks for a list by a position of its own", method: "GET",
      path: "/jobs?after=2026-11/99999999999999999999", statuses: [400]),
    DashboardAttack(
      tries: "puts a header into the answer by a job's number", method: "GET",
      path: "/jobs/1%0d%0aSet-Cookie:%20x=y", statuses: [400, 404]),
    DashboardAttack(
      tries: "asks for the picture of no job", method: "GET", path: "/jobs/99999999/picture",
      statuses: [404]),
    DashboardAttack(
      tries: "asks for a logo by a path", method: "GET", path: "/usage/logo?sha256=../../../etc/passwd",
      statuses: [404]),
    DashboardAttack(
      tries: "puts markup into a placeholder's picture", method: "GET",
      path: "/usage/user-picture?user=%3Cscript%3Ealert(1)%3C/script%3E", statuses: [404]),
    DashboardAttack(
      tries: "pauses all by a link", method: "GET", path: "/pause?token={token}", hasCookie: true,
      statuses: [200]),
    DashboardAttack(
      tries: "logs in where nobody does", method: "POST", path: "/log-in", form: "token=guess",
      statuses: [404]),
  ]

  /// Behind TLS, without the token.
  static let withoutToken: [DashboardAttack] =
    [
      "/", "/workers", "/usage", "/audit", "/audit/verification", verify, "/events", "/jobs",
      "/jobs/1",
      "/reviews", "/reviews/to-review", "/jobs/1/review", "/usage/user-picture?user=u",
      "/usage/logo?sha256=x", "/jobs/1/picture",
      "/jobs/1/cancel", "/failures",
      "/batches", "/batches/B1",
      "/matching/retry?state=dead",
      "/pause", "/resume",
    ].map {
      DashboardAttack(tries: "reads \($0) without the token", method: "GET", path: $0, statuses: [303])
    } + [
      DashboardAttack(
        tries: "acts without the token", method: "POST", path: verify, form: "token=guess", statuses: [303]),
      DashboardAttack(
        tries: "guesses the token", method: "POST", path: "/log-in", form: "token=guess", statuses: [403]),
      DashboardAttack(
        tries: "sends no token", method: "POST", path: "/log-in", statuses: [403]),
      DashboardAttack(
        tries: "logs a reader's browser in from another site", method: "POST", path: "/log-in",
        headers: ["Origin": "https://evil.example.org"], form: "token={secret}", statuses: [403]),
      DashboardAttack(
        tries: "sends a token that is too large", method: "POST", path: "/log-in",
        form: "token=" + String(repeating: "x", count: 65_536), statuses: [413]),
      DashboardAttack(
        tries: "brings a session along that it made up", method: "GET", path: "/",
        headers: ["Cookie": "__Host-analysis_session=" + String(repeating: "a", count: 64)], statuses: [303]),
      DashboardAttack(
        tries: "brings a session of the loopback along", method: "GET", path: "/",
        headers: ["Cookie": "analysis_session=" + String(repeating: "a", count: 64)], statuses: [303]),
    ]

  /// Behind TLS, where readers log in: by somebody who has no login, or the session of `doctor`. `{form}` stands for the
  /// cookie of the form, `{formToken}` for its token, `{other}` for the token of another login's session.
  static let onLogIn: [DashboardAttack] =
    ["/", "/jobs", "/audit", verify, "/events", "/jobs/1/picture", "/matching/retry?state=dead"].map {
      DashboardAttack(tries: "reads \($0) without a login", method: "GET", path: $0, statuses: [303])
    } + [
      DashboardAttack(
        tries: "guesses a session", method: "GET", path: "/jobs",
        headers: ["Cookie": "__Host-analysis_session=" + String(repeating: "a", count: 64)], statuses: [303]),
      DashboardAttack(
        tries: "takes the number of the form for a session", method: "GET", path: "/jobs",
        headers: ["Cookie": "__Host-analysis_session={formNumber}"], statuses: [303]),
      DashboardAttack(
        tries: "brings a session of the loopback along", method: "GET", path: "/jobs",
        headers: ["Cookie": "analysis_session={formNumber}"], statuses: [303]),
      DashboardAttack(
        tries: "acts with the form of another login", method: "POST", path: "/log-out", form: "token={other}",
        hasCookie: true, statuses: [403]),
      DashboardAttack(
        tries: "does what its login may not, with its own form", method: "POST", path: "/pause?type=ear",
        form: "token={token}", hasCookie: true, statuses: [403]),
      DashboardAttack(
        tries: "logs a reader out by a link", method: "GET", path: "/log-out?token={token}", hasCookie: true,
        statuses: [405]),
      DashboardAttack(
        tries: "logs a reader out from another site", method: "POST", path: "/log-out",
        headers: ["Sec-Fetch-Site": "cross-site"], form: "token={token}", hasCookie: true, statuses: [403]),
      DashboardAttack(
        tries: "logs in without the token of the form", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}"], form: "login=doctor&password={secret}",
        statuses: [403]),
      DashboardAttack(
        tries: "logs in without the cookie of the form", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https"], form: "login=doctor&password={secret}&token={formToken}",
        statuses: [403]),
      DashboardAttack(
        tries: "logs a reader in from another site", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}", "Origin": "https://evil.example.org"],
        form: "login=doctor&password={secret}&token={formToken}", statuses: [403]),
      DashboardAttack(
        tries: "reads a password on its way", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "http", "Cookie": "{form}"],
        form: "login=doctor&password={secret}&token={formToken}", statuses: [403]),
      DashboardAttack(
        tries: "has the database's address changed by a login", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}"],
        form: "login=host%3Devil.example.org+user%3Ddoctor&password={secret}&token={formToken}",
        statuses: [403]),
      DashboardAttack(
        tries: "logs in as the login of serve without a password", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}"], form: "login=postgres&token={formToken}",
        statuses: [403]),
      DashboardAttack(
        tries: "logs in as a login that the server asks for no password", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}"],
        form: "login=postgres&password=guess&token={formToken}", statuses: [403]),
      DashboardAttack(
        tries: "puts markup into a page by a login", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}"],
        form: "login=%3Cscript%3Ealert(1)%3C/script%3E&password=guess&token={formToken}", statuses: [403]),
      DashboardAttack(
        tries: "logs in with a password that is too large", method: "POST", path: "/log-in",
        headers: ["X-Forwarded-Proto": "https", "Cookie": "{form}"],
        form: "login=doctor&token={formToken}&password=" + String(repeating: "x", count: 65_536),
        statuses: [413]),
    ]
}

@Suite("Who reaches the dashboard gets no more than its reader is given", .onOwnThread)
struct DashboardAttackTests {
  private static let secret = "correct-horse-battery"

  private func context(_ database: ConnectionPool) async throws -> DashboardContext {
    try await DashboardContext(
      database, QueueMonitor(database), owner: ProcessOwner(user: "ops", host: "desk"))
  }

  /// What stands for what an attacker has, in a dashboard to which readers log in.
  private func logIn(_ port: UInt16, _ login: String) throws -> [String: String] {
    func cookie(_ answer: RawClient.Response) -> String {
      answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? ""
    }
    func token(_ answer: RawClient.Response) -> String {
      answer.text.firstMatch(of: /name="token" value="([0-9a-f]{64})"/).map { String($0.1) } ?? ""
    }
    func get(_ path: String, _ cookie: String) throws -> RawClient.Response {
      try RawClient(port: port).request(
        "GET", path, headers: ["X-Forwarded-Proto": "https", "Cookie": cookie])
    }
    let form = try get("/log-in", "")
    let answer = try RawClient(port: port).request(
      "POST", "/log-in",
      headers: [
        "Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-Proto": "https",
        "Cookie": cookie(form),
      ], body: Array("login=\(login)&password=\(Self.secret)&token=\(token(form))".utf8))
    return [
      "form": cookie(form), "formToken": token(form),
      "formNumber": cookie(form).split(separator: "=").last.map(String.init) ?? "", "cookie": cookie(answer),
      "token": token(try get("/jobs", cookie(answer))),
    ]
  }

  @Test("Where readers log in, without a login and with another one's")
  func logins() async throws {
    try await withPasswords(Self.secret) { (queue, cluster) async throws in
      let logins = DatabaseLogins(isBehindTLS: true, queue.pool) { try await context($0) }
      try await send(DashboardAttack.onLogIn, .logins(logins)) { port in
        try logIn(port, "doctor").merging(["other": try logIn(port, "operations")["token"] ?? ""]) { $1 }
      }
      #expect(!cluster.log.contains(Self.secret))
      #expect(try await queue.number("SELECT count(*) FROM analysis.pause") == 0)
    }
  }

  /// Sends all attacks of a table, and looks at each answer.
  ///
  /// - Parameter reader: Gives what stands in braces, and the reader's `cookie`.
  private func send(
    _ attacks: [DashboardAttack], _ rule: Door.Rule,
    reader: ((UInt16) throws -> [String: String])? = nil
  ) async throws {
    let dashboard = Dashboard(rule)
    let asksWhoReads = if case .thisMachine = rule { false } else { true }
    let server = try HTTPServer(
      ListenAddress(host: "127.0.0.1", port: 0), dashboard.routes, bounds: .patient,
      events: dashboard.events)
    let given = try (reader ?? self.reader)(server.address.port)
    for attack in attacks {
      var headers = ["Content-Type": "application/x-www-form-urlencoded"].merging(attack.headers) { $1 }
      if attack.hasCookie { headers["Cookie"] = given["cookie"] }
      func filled(_ text: String) -> String {
        given.reduce(text.replacing("{secret}", with: Self.secret)) {
          $0.replacing("{\($1.key)}", with: $1.value)
        }
      }
      let client = try RawClient(port: server.address.port)
      if let host = attack.headers["Host"] {
        // The client would name this machine beside it.
        try client.send(
          raw: Array("\(attack.method) \(attack.path) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8))
      } else {
        try client.send(
          attack.method, filled(attack.path), headers: headers.mapValues(filled),
          body: Array(filled(attack.form).utf8))
      }
      let answer = client.receive()
      #expect(attack.statuses.contains(answer.status), "\(attack.tries): \(answer.status)")
      // Scalar by scalar, as a browser reads it: to Swift a sign with an accent behind it is another one.
      let shown = answer.text.unicodeScalars
      #expect(!shown.contains("<script>".unicodeScalars), "\(attack.tries)")
      #expect(!shown.contains(Self.secret.unicodeScalars), "\(attack.tries)")
      #expect(answer.headers["set-cookie"]?.hasPrefix("x=y") != true, "\(attack.tries)")
      // A session is given where nobody is asked who reads, and to nobody who does not show it.
      if asksWhoReads {
        #expect(answer.headers["set-cookie"]?.contains("analysis_session=") != true, "\(attack.tries)")
      }
    }
    // None of them has begun what the form does.
    let own = try RawClient(port: server.address.port).request("GET", "/audit/verification")
    #expect(!own.text.contains("The audit is whole") && !own.text.contains("It is being verified"))
    await server.stop()
    await dashboard.forgetLogins(all: true)
  }

  /// A reader of whom nothing is asked.
  private func reader(_ port: UInt16) throws -> [String: String] {
    let answer = try RawClient(port: port).request("GET", "/audit/verify")
    return [
      "cookie": answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? "",
      "token": answer.text.firstMatch(of: /name="token" value="([0-9a-f]{64})"/).map { String($0.1) } ?? "",
    ]
  }

  @Test("On the loopback, from other sites and from nearby")
  func loopback() async throws {
    try await withQueue { (queue) async throws in
      try await send(DashboardAttack.onLoopback, .thisMachine(try await context(queue.pool)))
    }
  }

  @Test("Behind TLS, without the token")
  func outside() async throws {
    try await withQueue { (queue) async throws in
      let rule = Door.Rule.token(Secret(Self.secret), try await context(queue.pool))
      try await send(DashboardAttack.withoutToken, rule)
    }
  }
}
