import EventLoop
import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPServing
@testable import Images
@testable import Support

/// A request that somebody who reaches the gateway sends to it, with a token of their own or without.
struct GatewayAttack: Sendable {
  /// What is tried, in words.
  let tries: String
  let method: String
  let path: String
  /// `{mallory}` stands for the attacker's own token, `{ada}` for another user's.
  var headers: [String: String] = ["Authorization": "Bearer {mallory}"]
  var body = ""
  let statuses: Set<Int>

  private static func form(_ parts: String, _ boundary: String = "b") -> [String: String] {
    ["Authorization": "Bearer {mallory}", "Content-Type": "multipart/form-data; boundary=\(boundary)"]
  }

  private static let type = "--b\r\nContent-Disposition: form-data; name=\"type\"\r\n\r\nthroat\r\n"
  private static let file =
    "--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a\"\r\n\r\nx\r\n"

  /// `{job}` is a job of another user, `{share}` a share of others.
  static let all: [GatewayAttack] = [
    GatewayAttack(
      tries: "shows a token that is made up", method: "GET", path: "/api/analyses",
      headers: ["Authorization": "Bearer aq1.0." + String(repeating: "A", count: 43)], statuses: [401]),
    GatewayAttack(
      tries: "shows another user's token with a sign more", method: "GET", path: "/api/analyses",
      headers: ["Authorization": "Bearer {ada}A"], statuses: [401]),
    GatewayAttack(
      tries: "shows a token of another shard", method: "GET", path: "/api/analyses",
      headers: ["Authorization": "Bearer aq1.1.{mallory-rest}"], statuses: [401]),
    GatewayAttack(
      tries: "puts SQL into a token", method: "GET", path: "/api/analyses",
      headers: ["Authorization": "Bearer aq1.0.' OR true--"], statuses: [401]),
    GatewayAttack(
      tries: "shows a password in place of a token", method: "GET", path: "/api/analyses",
      headers: ["Authorization": "Basic {mallory}"], statuses: [401]),
    GatewayAttack(
      tries: "shows the token in the address, where logs would have it", method: "GET",
      path: "/api/analyses?token={mallory}", headers: [:], statuses: [401]),
    GatewayAttack(
      tries: "reads another's analysis", method: "GET", path: "/api/analyses/{job}", statuses: [404]),
    GatewayAttack(
      tries: "listens to what becomes of another's job", method: "GET", path: "/api/analyses/{job}/events",
      statuses: [404]),
    GatewayAttack(
      tries: "sees another's photo", method: "GET", path: "/api/analyses/{job}/image", statuses: [404]),
    GatewayAttack(
      tries: "sees another's photo by a number that turns into it", method: "GET",
      path: "/api/analyses/0{job}/image", statuses: [404]),
    GatewayAttack(
      tries: "listens to what happens to others by a token that is made up", method: "GET",
      path: "/api/events",
      headers: ["Authorization": "Bearer aq1.0." + String(repeating: "A", count: 43)], statuses: [401]),
    GatewayAttack(
      tries: "deletes another's analysis", method: "DELETE", path: "/api/analyses/{job}", statuses: [403]),
    GatewayAttack(
      tries: "reads a history from another's analysis on", method: "GET", path: "/api/analyses?before={job}",
      statuses: [404]),
    GatewayAttack(
      tries: "reads a history without end", method: "GET", path: "/api/analyses?limit=1000000",
      statuses: [400]),
    GatewayAttack(
      tries: "puts SQL into a number", method: "GET", path: "/api/analyses/1%20OR%201=1", statuses: [404]),
    GatewayAttack(
      tries: "asks for a number beyond all", method: "GET", path: "/api/analyses/99999999999999999999",
      statuses: [404]),
    GatewayAttack(
      tries: "asks for a negative number", method: "GET", path: "/api/analyses/-1", statuses: [404]),
    GatewayAttack(
      tries: "has another's analysis saved as its own", method: "POST", path: "/api/analyses/save",
      body: #"{"id":"{job}","type":"throat","conditions":[]}"#, statuses: [404]),
    GatewayAttack(
      tries: "sends JSON that is nested without end", method: "POST", path: "/api/analyses/save",
      body: String(repeating: "[", count: 20_000), statuses: [400]),
    GatewayAttack(
      tries: "reads by a share of others", method: "GET", path: "/api/shared/{share}/analyses",
      statuses: [404]),
    GatewayAttack(
      tries: "accepts a share of others", method: "POST", path: "/api/shares/{share}/accept", statuses: [404]),
    GatewayAttack(
      tries: "ends a share of others", method: "DELETE", path: "/api/shares/{share}", statuses: [404]),
    GatewayAttack(
      tries: "shares with itself", method: "POST", path: "/api/shares", body: #"{"carer":"mallory"}"#,
      statuses: [400]),
    GatewayAttack(
      tries: "ends a name by a zero byte", method: "POST", path: "/api/shares",
      body: #"{"carer":"ada\u0000"}"#,
      statuses: [400]),
    GatewayAttack(
      tries: "logs in as another with its own token", method: "POST", path: "/api/login", headers: [:],
      body: #"{"email":"ada","password":"{mallory}"}"#, statuses: [401]),
    GatewayAttack(
      tries: "logs in with a guess", method: "POST", path: "/api/login", headers: [:],
      body: #"{"email":"ada","password":"secret"}"#, statuses: [401]),
    GatewayAttack(
      tries: "guesses a code", method: "POST", path: "/api/login", headers: [:],
      body: #"{"code":"0000-0000-0000-0000"}"#, statuses: [401]),
    GatewayAttack(
      tries: "puts SQL into a code", method: "POST", path: "/api/login", headers: [:],
      body: #"{"code":"0000-0000-0000-000'"}"#, statuses: [401]),
    GatewayAttack(
      tries: "guesses a code of a shard beyond all", method: "POST", path: "/api/login", headers: [:],
      body: #"{"code":"0000-0000-0000-0000-99999"}"#, statuses: [401]),
    GatewayAttack(
      tries: "renews by a token that is made up", method: "POST", path: "/api/refresh-token", headers: [:],
      body:
        #"{"refreshToken":"aq1.0.\#(String(repeating: "A", count: 43)).\#(String(repeating: "A", count: 43))"}"#,
      statuses: [401]),
    GatewayAttack(
      tries: "renews by another's access token", method: "POST", path: "/api/refresh-token", headers: [:],
      body: #"{"refreshToken":"{ada}"}"#, statuses: [401]),
    GatewayAttack(
      tries: "ends another's session", method: "DELETE", path: "/api/sessions/1", statuses: [404]),
    GatewayAttack(
      tries: "ends a session by a number beyond all", method: "DELETE", path: "/api/sessions/4294967297",
      statuses: [404]),
    GatewayAttack(
      tries: "ends the sessions of all users", method: "DELETE", path: "/api/sessions", statuses: [200]),
    GatewayAttack(
      tries: "lists the sessions of all users", method: "GET", path: "/api/sessions", statuses: [200]),
    GatewayAttack(
      tries: "makes itself an account", method: "POST", path: "/api/register", headers: [:],
      body: #"{"email":"a","password":"b","name":"c"}"#, statuses: [403]),
    GatewayAttack(
      tries: "gives itself another plan", method: "POST", path: "/api/update-subscription",
      body: #"{"subscription":"premium","paymentToken":"x"}"#, statuses: [403]),
    GatewayAttack(
      tries: "names another user whose profile it changes", method: "PUT", path: "/api/update-profile",
      body: #"{"id":"ada","user":"ada"}"#, statuses: [200]),
    GatewayAttack(
      tries: "turns round what is written after its name", method: "PUT", path: "/api/update-profile",
      body: #"{"name":"\u202eada"}"#, statuses: [400]),
    GatewayAttack(
      tries: "logs another out with a token that is made up", method: "POST", path: "/api/logout",
      headers: ["Authorization": "Bearer aq1.0." + String(repeating: "A", count: 43)], statuses: [401]),
    GatewayAttack(
      tries: "hides a second file behind the first", method: "POST", path: "/api/analyze", headers: form(""),
      body: type + file + file + "--b--\r\n", statuses: [400]),
    GatewayAttack(
      tries: "sends a file under another name", method: "POST", path: "/api/analyze", headers: form(""),
      body: type + file.replacing("image", with: "avatar") + "--b--\r\n", statuses: [400]),
    GatewayAttack(
      tries: "leaves a form without its end", method: "POST", path: "/api/analyze", headers: form(""),
      body: type + file, statuses: [400]),
    GatewayAttack(
      tries: "names two types", method: "POST", path: "/api/analyze", headers: form(""),
      body: type + type.replacing("throat", with: "ear") + file + "--b--\r\n", statuses: [400]),
    GatewayAttack(
      tries: "sends a type without end", method: "POST", path: "/api/analyze", headers: form(""),
      body: type.replacing("throat", with: String(repeating: "x", count: 60_000)) + file + "--b--\r\n",
      statuses: [400]),
    GatewayAttack(
      tries: "sends part headers without end", method: "POST", path: "/api/analyze", headers: form(""),
      body: "--b\r\n" + String(repeating: "X: y\r\n", count: 10_000), statuses: [400]),
    GatewayAttack(
      tries: "names a boundary of 10 kB", method: "POST", path: "/api/analyze",
      headers: form("", String(repeating: "b", count: 10_000)), body: type + file, statuses: [400]),
    GatewayAttack(
      tries: "puts a path into the file's name", method: "POST", path: "/api/analyze", headers: form(""),
      body: type + file.replacing("\"a\"", with: "\"../../etc/passwd\"") + "--b--\r\n", statuses: [400]),
    GatewayAttack(
      tries: "announces a body without end", method: "POST", path: "/api/analyze",
      headers: ["Authorization": "Bearer {mallory}", "Expect": "100-continue", "Announced": "999999999999"],
      statuses: [413]),
    GatewayAttack(
      tries: "puts a line break into a key", method: "POST", path: "/api/analyze",
      headers: form("").merging(["Idempotency-Key": "a\tb"]) { $1 }, body: type + file + "--b--\r\n",
      statuses: [400]),
    GatewayAttack(
      tries: "leaves the pages by a path", method: "GET", path: "/api/../../etc/passwd", statuses: [404]),
    GatewayAttack(
      tries: "ends a path by a zero byte", method: "GET", path: "/api/analyses%00/x", statuses: [400]),
    GatewayAttack(
      tries: "puts a header into the answer", method: "GET", path: "/api/analyses/1%0d%0aSet-Cookie:%20a=b",
      statuses: [404]),
    GatewayAttack(
      tries: "asks by a method that there is not", method: "BREW", path: "/api/health", statuses: [405]),
    GatewayAttack(
      tries: "asks who may ask from a page of another site", method: "OPTIONS", path: "/api/analyses",
      headers: ["Origin": "https://evil.example.org", "Access-Control-Request-Method": "GET"], statuses: [405]
    ),
    GatewayAttack(
      tries: "asks without a token whether it works", method: "GET", path: "/readyz", headers: [:],
      statuses: [200]),
    GatewayAttack(
      tries: "has it echo the request", method: "TRACE", path: "/api/user-profile", statuses: [405]),
  ]
}

@Suite("Who reaches the gateway gets nothing but what is their own", .onOwnThread)
struct GatewayAttackTests {
  private struct Setting {
    let queue: QueueFixture
    let gateway: Gateway
    let server: HTTPServer
    let tokens: [String: String]

    func filled(_ text: String, job: Int64, share: Int) -> String {
      let mallory = tokens["mallory"] ?? ""
      return text.replacing("{mallory-rest}", with: mallory.split(separator: ".").last.map(String.init) ?? "")
        .replacing("{mallory}", with: mallory).replacing("{ada}", with: tokens["ada"] ?? "")
        .replacing("{job}", with: "\(job)").replacing("{share}", with: "\(share)")
    }
  }

  private func with(
    _ change: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (Setting) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      var tokens: [String: String] = [:]
      for user in ["ada", "carl", "mallory"] {
        try await queue.addUser(user)
        let token = try UserToken(shard: 0).text
        try await queue.addToken(user, text: token)
        tokens[user] = token
      }
      try await withLoginRole(on: queue.pool, named: "gateway", in: ["analysis_gateway"]) {
        (login) async throws in
        var database = queue.database.configuration
        database.keywords["user"] = login
        var configuration = GatewayConfiguration(database: database)
        configuration.uploadsEachMinute = nil
        configuration.deadline = .milliseconds(100)
        configuration.listens = false
        change(&configuration)
        let gateway = Gateway(configuration, loop: queue.loop, log: .discard, version: "1")
        try await gateway.begin()
        let server = try gateway.serve(at: ListenAddress(host: "127.0.0.1", port: 0))
        let outcome: Result<Void, any Error>
        do {
          outcome = .success(
            try await body(Setting(queue: queue, gateway: gateway, server: server, tokens: tokens)))
        } catch {
          outcome = .failure(error)
        }
        await server.stop()
        await gateway.close()
        try outcome.get()
      }
    }
  }

  @Test(
    "Each request is answered as the table says, in JSON, and nothing of another user is shown or changed")
  func requests() async throws {
    try await with { setting in
      let job = try #require(try await setting.queue.submit(1, user: "ada").first).value
      let share = try await setting.queue.number(
        "SELECT analysis.gateway_share_request(0::smallint, sha256($1::text::bytea), NULL, 'carl', NULL)::int",
        [.text(setting.tokens["ada"])])
      for attack in GatewayAttack.all {
        func filled(_ text: String) -> String { setting.filled(text, job: job, share: share) }
        let client = try RawClient(port: setting.server.address.port)
        if let length = attack.headers["Announced"] {
          try client.send(
            raw: Array(
              filled(
                "\(attack.method) \(attack.path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {mallory}\r\nContent-Length: \(length)\r\nExpect: 100-continue\r\n\r\n"
              ).utf8))
        } else {
          try client.send(
            attack.method, filled(attack.path), headers: attack.headers.mapValues(filled),
            body: Array(filled(attack.body).utf8))
        }
        let answer = client.receive()
        #expect(attack.statuses.contains(answer.status), "\(attack.tries): \(answer.status) \(answer.text)")
        #expect(answer.headers["set-cookie"] == nil && !answer.text.contains("root:"), "\(attack.tries)")
        for token in setting.tokens.values { #expect(!answer.text.contains(token), "\(attack.tries)") }
        #expect(!answer.text.contains("confidence"), "\(attack.tries)")
      }
      #expect(try await setting.queue.count("profile WHERE name IS NOT NULL OR email IS NOT NULL") == 0)
      #expect(try await setting.queue.count("job") == 1)
      #expect(try await setting.queue.count("share") == 1)
      #expect(
        try await setting.queue.count("share WHERE accepted_at IS NOT NULL OR revoked_at IS NOT NULL") == 0)
      let own = try RawClient(port: setting.server.address.port).request(
        "GET", "/api/analyses", headers: ["Authorization": "Bearer \(setting.tokens["mallory"] ?? "")"])
      #expect(own.status == 200 && own.text == "{\"analyses\":[]}\n")
    }
  }

  @Test("Every path but those without a token asks for one")
  func withoutToken() async throws {
    try await with { setting in
      let open = [
        "/api/health", "/readyz", "/api/login", "/api/register", "/api/refresh-token",
        "/api/update-subscription",
      ]
      #expect(setting.gateway.routes.count > 15)
      for route in setting.gateway.routes where !open.contains(route.path) {
        let answer = try RawClient(port: setting.server.address.port).request(
          route.method.rawValue, route.path.replacing("*", with: "1"))
        #expect(answer.status == 401, "\(route.method) \(route.path): \(answer.status)")
        #expect(answer.headers["www-authenticate"] == "Bearer")
        // Before it has sent anything.
        let asking = try RawClient(port: setting.server.address.port)
        let head = "\(route.method.rawValue) \(route.path.replacing("*", with: "1")) HTTP/1.1\r\nHost: x\r\n"
        try asking.send(raw: Array("\(head)Content-Length: 1\r\nExpect: 100-continue\r\n\r\n".utf8))
        let refused = asking.receive().status
        #expect(
          [.post, .put].contains(route.method) ? refused == 401 : [100, 401].contains(refused),
          "\(head): \(refused)")
      }
    }
  }

  @Test("One user's photos that do not end, and listeners, take nothing of what others may")
  func greed() async throws {
    try await with({ $0.leastPace = .init(silence: .seconds(600)) }) { setting in
      let port = setting.server.address.port
      func begin(_ user: String) throws -> (RawClient, status: Int) {
        let client = try RawClient(port: port)
        let head = """
          POST /api/analyze HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(setting.tokens[user] ?? "")\r
          Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n
          """
        try client.send(raw: Array(head.utf8))
        let answer = client.receive()
        #expect(answer.status == 100 || answer.headers["retry-after"] == "1", "\(answer.text)")
        return (client, answer.status)
      }
      let open = try (0..<8).map { _ in try begin("mallory") }
      #expect(open.allSatisfy { $0.status == 100 })
      #expect(try begin("mallory").status == 429)
      #expect(try begin("ada").status == 100)
      open[0].0.close()
      try await eventually("the place to be given back") { try begin("mallory").status == 100 }

      let job = try #require(try await setting.queue.create([Ask("mallory")]).first)
      func listen() throws -> RawClient {
        let client = try RawClient(port: port)
        try client.send(
          "GET", "/api/analyses/\(job)/events",
          headers: ["Authorization": "Bearer \(setting.tokens["mallory"] ?? "")", "Connection": "close"])
        return client
      }
      let listeners = try (0..<20).map { _ in try listen() }
      for listener in listeners { try listener.expect("event: status") }
      let refused = try listen().receive()
      #expect(refused.status == 429 && refused.headers["retry-after"] == "10", "\(refused.text)")
      _ = try await setting.queue.complete(try await setting.queue.claim())
      for listener in listeners { #expect(listener.untilClosed().contains("event: analysis")) }
      try await eventually("the places to be given back") {
        try listen().untilClosed().contains("event: analysis")
      }
    }
  }

  @Test("One user reads no more than their part of what the audit takes of the gateway in a minute")
  func readings() async throws {
    try await with({ $0.readingsEachMinute = 2 }) { setting in
      func ask(_ path: String, _ user: String) throws -> RawClient.Response {
        try RawClient(port: setting.server.address.port).request(
          "GET", path, headers: ["Authorization": "Bearer \(setting.tokens[user] ?? "")"])
      }
      let job = try #require(try await setting.queue.create([Ask("mallory")]).first)
      // Where nothing is read yet no entry is made, and nothing is taken.
      for _ in 0..<5 { #expect(try ask("/api/analyses/\(job)", "mallory").status == 202) }
      for _ in 0..<5 { #expect(try ask("/api/analyses", "ada").text == "{\"analyses\":[]}\n") }
      _ = try await setting.queue.complete(try await setting.queue.claim())
      #expect(try ask("/api/analyses/\(job)", "mallory").status == 200)
      #expect(try ask("/api/analyses", "mallory").status == 200)
      for path in ["/api/analyses/\(job)", "/api/analyses", "/api/analysis-history"] {
        let refused = try ask(path, "mallory")
        #expect(refused.status == 429 && refused.headers["retry-after"] != nil, "\(path): \(refused.text)")
      }
      #expect(try ask("/api/analyses", "ada").status == 200)
      #expect(try await setting.queue.count("audit_entry WHERE action = 'read_result'") == 2)
    }
  }

  @Test("A token that was just revoked does not log in")
  func revoked() async throws {
    try await with { setting in
      let token = setting.tokens["ada"] ?? ""
      func logIn() throws -> RawClient.Response {
        try RawClient(port: setting.server.address.port).request(
          "POST", "/api/login", body: Array(#"{"email":"ada","password":"\#(token)"}"#.utf8))
      }
      #expect(try logIn().status == 200)
      try await setting.queue.execute("UPDATE analysis.user_token SET revoked_at = clock_timestamp()")
      let refused = try logIn()
      #expect(refused.status == 401 && refused.json["code"] as? String == "INVALID_CREDENTIALS")
    }
  }

  @Test("A stream has the user's own events alone, goes on where it was left, and ends with the token")
  func stream() async throws {
    try await with({ $0.eventsEvery = .milliseconds(20) }) { setting in
      func listen(_ user: String, after last: String? = nil) throws -> RawClient {
        let client = try RawClient(port: setting.server.address.port)
        var headers = ["Authorization": "Bearer \(setting.tokens[user] ?? "")", "Connection": "close"]
        headers["Last-Event-ID"] = last
        try client.send("GET", "/api/events", headers: headers)
        return client
      }
      func lastID(_ text: String) throws -> String {
        try #require(text.matches(of: /id: (\S+)\n/).last.map { String($0.1) }, "\(text)")
      }
      func end() async throws -> Int64 {
        let job = try #require(
          try await setting.queue.create([Ask("ada", image: "\(UInt64.random(in: 0...UInt64.max))")]).first)
        _ = try await setting.queue.complete(try await setting.queue.claim(lease: job))
        return job
      }
      let (ada, mallory) = (try listen("ada"), try listen("mallory"))
      try ada.expect("id: ")
      try mallory.expect("id: ")
      let first = try await end()
      var heard = try ada.expect("event: analysis\ndata: {\"id\":\"\(first)\"")
      _ = try await setting.queue.pool.query(
        "SELECT analysis.gateway_share_request(0::smallint, sha256($1::text::bytea), NULL, 'carl', NULL)",
        [.text(setting.tokens["ada"])])
      heard += try ada.expect("\"state\":\"requested\"") + ada.expect("\n\n")
      #expect(heard.contains("\"role\":\"owner\",\"with\":\"carl\"") && !heard.contains("confidence"))
      ada.close()
      let second = try await end()
      let again = try listen("ada", after: try lastID(heard))
      let rest = try again.expect("\"id\":\"\(second)\"")
      #expect(!rest.contains("\"id\":\"\(first)\"") && !rest.contains("requested"), "\(rest)")
      // What is no position begins now, and another's opens nothing of theirs.
      let strange = try listen("ada", after: "1;9:1:x;80/y")
      try strange.expect("id: ")
      let stolen = try listen("mallory", after: try lastID(heard))
      try stolen.expect("id: ")
      // The token is revoked: the stream ends, and opens no more.
      try await setting.queue.execute("UPDATE analysis.user_token SET revoked_at = clock_timestamp()")
      for client in [again, strange] { _ = client.untilClosed() }
      for client in [mallory, stolen] {
        let all = client.untilClosed()
        #expect(!all.contains("event:"), "\(all)")
      }
      #expect(try listen("ada").receive().status == 401)
      try await eventually("nobody to listen") { setting.gateway.events.listeners == 0 }
    }
  }

  @Test("Of the month's limit an app hears once at 80 % and once at all of it, however often it comes again")
  func limitEvents() async throws {
    try await with({ $0.eventsEvery = .milliseconds(20) }) { setting in
      try await setting.queue.execute("SELECT analysis.set_plan(0::smallint, 'ada', 'free', NULL)")
      func listen(after last: String? = nil) throws -> RawClient {
        let client = try RawClient(port: setting.server.address.port)
        var headers = ["Authorization": "Bearer \(setting.tokens["ada"] ?? "")"]
        headers["Last-Event-ID"] = last
        try client.send("GET", "/api/events", headers: headers)
        return client
      }
      _ = try await setting.queue.submit((1...4).map { Ask("ada", image: "photo \($0)") })
      let heard = try listen().expect("\"percent\":80")
      let id = try #require(heard.matches(of: /id: (\S+)\n/).last.map { String($0.1) })
      let later = EventPosition(id)
      #expect(later.cursor != nil && later.limit?.percent == 80 && later.text == id)
      #expect(later.limit?.isNews(after: EventPosition.Limit(month: "2000-01", percent: 100)) == true)
      #expect(later.limit?.isNews(after: later.limit) == false)
      #expect(
        EventPosition("x").cursor == nil && EventPosition(String(repeating: "1;", count: 2000)).cursor == nil)
    }
  }

  @Test("A code begins one session; guesses are all answered alike, and lock nobody out")
  func codes() async throws {
    try await with { setting in
      func logIn(_ body: String) throws -> RawClient.Response {
        try RawClient(port: setting.server.address.port).request(
          "POST", "/api/login", body: Array(body.utf8))
      }
      let (code, late) = (try LoginCode(shard: 0), try LoginCode(shard: 0))
      for (user, code) in [("ada", code), ("carl", late)] {
        _ = try await setting.queue.pool.query(
          "SELECT analysis.add_login_code(0::smallint, $1, $2)", [.text(user), .bytes(code.hash)])
      }
      try await setting.queue.execute(
        "UPDATE analysis.login_code SET expires_at = now() WHERE hash = '\\x\(Hexadecimal.text(of: late.hash))'"
      )
      var refusals: Set<String> = []
      for _ in 0..<200 {
        refusals.insert(try logIn(#"{"code":"\#(try LoginCode(shard: 0).text.reveal())"}"#).text)
      }
      refusals.insert(try logIn(#"{"code":"\#(late.text.reveal())"}"#).text)
      // Another's name opens nothing, and takes nothing from whose it is.
      refusals.insert(try logIn(#"{"email":"mallory","password":"\#(code.text.reveal())"}"#).text)
      // As it is typed, and with the name where the app asks for a password.
      let typed = code.text.reveal().lowercased().replacing("-", with: " ").replacing("0", with: "o")
      let begun = try logIn(#"{"email":"ada","password":"\#(typed)","device":"phone\u202e"}"#)
      #expect(begun.status == 200, "\(begun.text)")
      #expect((begun.json["user"] as? [String: Any])?["id"] as? String == "ada")
      refusals.insert(try logIn(#"{"code":"\#(code.text.reveal())"}"#).text)
      #expect(refusals.count == 1 && refusals.first?.contains("INVALID_CREDENTIALS") == true, "\(refusals)")
      #expect(
        try await setting.queue.texts("SELECT label FROM analysis.user_token WHERE family IS NOT NULL") == [
          "phone"
        ])
    }
  }

  @Test("A refresh token counts once: the second time ends the session, for whoever has the other one too")
  func replay() async throws {
    try await with { setting in
      func ask(_ method: String, _ path: String, _ token: String = "", _ body: String = "") throws
        -> RawClient.Response
      {
        try RawClient(port: setting.server.address.port).request(
          method, path, headers: ["Authorization": "Bearer \(token)"], body: Array(body.utf8))
      }
      func begin() async throws -> [String: Any] {
        let code = try LoginCode(shard: 0)
        _ = try await setting.queue.pool.query(
          "SELECT analysis.add_login_code(0::smallint, 'ada', $1)", [.bytes(code.hash)])
        return try ask("POST", "/api/login", "", #"{"code":"\#(code.text.reveal())"}"#).json
      }
      func renew(_ token: Any?) throws -> RawClient.Response {
        try ask("POST", "/api/refresh-token", "", #"{"refreshToken":"\#(token as? String ?? "")"}"#)
      }
      let (lost, kept) = (try await begin(), try await begin())
      let access = lost["accessToken"] as? String ?? ""
      #expect(try ask("GET", "/api/user-profile", access).status == 200)
      let renewed = try renew(lost["refreshToken"])
      #expect(renewed.status == 200, "\(renewed.text)")
      #expect(try ask("GET", "/api/user-profile", access).status == 401, "the one before counts no more")
      let next = renewed.json["accessToken"] as? String ?? ""
      #expect(try ask("GET", "/api/user-profile", next).status == 200)
      let replayed = try renew(lost["refreshToken"])
      #expect(replayed.status == 401 && replayed.json["code"] as? String == "SESSION_ENDED")
      #expect(try ask("GET", "/api/user-profile", next).status == 401)
      #expect(try renew(renewed.json["refreshToken"]).status == 401)

      // The other session goes on, sees itself alone, and ends the next one, as of a phone that was lost.
      let own = kept["accessToken"] as? String ?? ""
      func sessions() throws -> [[String: Any]] {
        try ask("GET", "/api/sessions", own).json["sessions"] as? [[String: Any]] ?? []
      }
      #expect(try sessions().count == 1 && sessions().first?["current"] as? Bool == true)
      let phone = try await begin()
      let number = try #require(try sessions().first { $0["current"] as? Bool == false }?["id"] as? String)
      #expect(try ask("DELETE", "/api/sessions/\(number)", setting.tokens["mallory"] ?? "").status == 404)
      #expect(try ask("DELETE", "/api/sessions/\(number)", own).status == 200)
      #expect(try renew(phone["refreshToken"]).status == 401)
      #expect(try ask("GET", "/api/user-profile", phone["accessToken"] as? String ?? "").status == 401)
      #expect(try ask("GET", "/api/user-profile", own).status == 200)
      #expect(
        try await setting.queue.texts(
          "SELECT detail ->> 'because' FROM analysis.audit_entry WHERE detail ? 'because' ORDER BY at"
        )
        .first == "a refresh token was used again")
    }
  }

  @Test("Every route is tried by the table, or refused without a token")
  func covered() async throws {
    try await with { setting in
      for path in Set(setting.gateway.routes.map(\.path)) {
        let pattern = path.replacing("/*", with: "/")
        let isTried = GatewayAttack.all.contains { $0.path.hasPrefix(pattern) }
        #expect(
          isTried || !["/api/login", "/api/register", "/api/health", "/readyz"].contains(path), "\(path)")
      }
    }
  }
}
