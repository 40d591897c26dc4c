import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import HTTPServing
@testable import Queue
@testable import Support

@Suite("Readers who log in to the dashboard with a login of the database", .onOwnThread)
struct LogInTests {
  private static let password = "Pferd+9%&=ü"
  /// What a proxy says of a browser.
  private static let https = ["X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9, 198.51.100.7"]

  /// A dashboard to which readers log in, and what it has warned of.
  private struct Visited {
    let served: Served
    let queue: QueueFixture
    let cluster: ServerCluster
    let clock: MovedClock
    let warnings: Warnings
    var basePath = ""

    /// What is answered to a login and a password.
    func tryIn(
      _ login: String, _ password: String = LogInTests.password,
      _ headers: [String: String] = LogInTests.https
    ) throws -> RawClient.Response {
      let form = try served.form(basePath + "/log-in", headers)
      return try served.request(
        "POST", basePath + "/log-in", headers.merging(["Cookie": form.cookie]) { $1 },
        form: "login=\(percentEncoded(login))&password=\(percentEncoded(password))&token=\(form.token)")
    }

    /// The cookie of a login that was let in.
    func logIn(
      _ login: String, _ password: String = LogInTests.password,
      _ headers: [String: String] = LogInTests.https
    ) throws -> [String: String] {
      let answer = try tryIn(login, password, headers)
      #expect(answer.status == 303, "\(login): \(answer.text)")
      return [
        "Cookie": try #require(answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init))
      ]
    }

    /// How many connections the server has of a login.
    func connections(_ login: String) async throws -> Int {
      try await queue.number("SELECT count(*) FROM pg_stat_activity WHERE usename = $1", [.text(login)])
    }

    /// Ends the connections of a login, as if they had become old.
    func cut(_ login: String) async throws {
      try await queue.execute(
        "DO $$ BEGIN PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '\(login)'; END $$"
      )
      clock.pass(DatabaseLogins.connectionAge)
    }
  }

  private final class Warnings: Sendable {
    private let said = Mutex<[String]>([])
    var all: [String] { said.withLock { $0 } }
    func add(_ text: String) { said.withLock { $0.append(text) } }
  }

  private func with(
    isBehindTLS: Bool = true, below basePath: String = "", passfile: String? = nil,
    _ body: (Visited) async throws -> Void
  ) async throws {
    try await withPasswords(Self.password) { (queue, cluster) async throws in
      let (clock, warnings) = (MovedClock(), Warnings())
      var configuration = queue.pool.configuration
      configuration.keywords["passfile"] = passfile
      let database = ConnectionPool(configuration, on: queue.loop)
      let logins = DatabaseLogins(isBehindTLS: isBehindTLS, database, warn: warnings.add) {
        try await DashboardContext(
          $0, QueueMonitor($0, now: clock.now), owner: ProcessOwner(user: "web", host: "desk"), now: clock.now
        )
      }
      try await withDashboard(queue.pool, { _ in .logins(logins) }, clock: clock, below: basePath) { served in
        try await body(
          Visited(
            served: served, queue: queue, cluster: cluster, clock: clock, warnings: warnings,
            basePath: basePath))
      }
      await database.close()
    }
  }

  private static func menu(_ page: String) -> [String] {
    let nav =
      page.firstMatch(of: #/<nav aria-label="Pages">.*?</nav>/#.dotMatchesNewlines()).map { String($0.0) }
      ?? ""
    return nav.matches(of: #/href="/?([a-z]*)"/#).map { String($0.1) }
  }

  @Test("Each sees and changes what its own login may, at one address, and the audit names it")
  func own() async throws {
    try await with { (visited) async throws in
      let served = visited.served
      let (operations, doctor, auditor) = (
        try visited.logIn("operations"), try visited.logIn("doctor"), try visited.logIn("auditor")
      )
      for (login, cookie, path, allowed, refused) in [
        ("operations", operations, "/", ["", "jobs", "failures", "batches", "workers"], "/audit"),
        ("doctor", doctor, "/jobs", ["jobs", "failures", "batches", "reviews"], "/workers"),
        ("auditor", auditor, "/", ["", "workers", "usage", "audit"], "/jobs"),
      ] {
        let page = try served.get(path, cookie)
        #expect(page.status == 200 && Self.menu(page.text) == allowed, "\(login): \(Self.menu(page.text))")
        #expect(page.text.contains("Shown as login \(login) in database"))
        let refusal = try served.get(refused, cookie)
        #expect(
          refusal.status == 403 && refusal.text.contains("Log in with another login that may."), "\(login)")
      }
      let (_, token) = try served.form("/pause?type=throat", operations)
      let paused = try served.request("POST", "/pause?type=throat", operations, form: "token=\(token)")
      #expect(paused.status == 303)
      let refused = try served.request(
        "POST", "/pause?type=ear", doctor, form: "token=\(try served.form("/jobs", doctor).token)")
      #expect(refused.status == 403)
      let acts = try await visited.queue.texts("SELECT role FROM \(auditEntries) WHERE action = 'pause'")
      #expect(acts == ["operations"])
    }
  }

  @Test(
    "The cookie is strict and new, and a number that a browser brings along, or of another login's form, is worth nothing"
  )
  func cookies() async throws {
    try await with { (visited) async throws in
      let served = visited.served
      for path in ["/", "/jobs", "/audit/verify", "/events", "/jobs/1/picture"] {
        let answer = try served.get(path)
        #expect(answer.status == 303 && answer.headers["location"] == "/log-in", "\(path)")
      }
      let form = try served.get("/log-in", Self.https)
      #expect(form.headers["set-cookie"]?.hasPrefix("__Host-analysis_session_form=") == true)
      #expect(!form.text.contains("<nav"))
      let number = try served.form("/log-in", Self.https).cookie.split(separator: "=").last ?? ""
      let planted = ["Cookie": "__Host-analysis_session=\(number)"]
      #expect(try served.get("/jobs", planted).status == 303)
      let answer = try visited.tryIn("doctor", Self.password, Self.https.merging(planted) { $1 })
      let cookie = try #require(answer.headers["set-cookie"])
      #expect(
        cookie.hasPrefix("__Host-analysis_session=")
          && cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict; Secure"))
      #expect(!cookie.contains(number))
      #expect(try served.get("/jobs", planted).status == 303)
      let (doctor, operations) = (try visited.logIn("doctor"), try visited.logIn("operations"))
      let token = try served.form("/jobs", doctor).token
      #expect(try served.request("POST", "/pause?type=ear", operations, form: "token=\(token)").status == 403)
      #expect(try served.request("POST", "/log-out", operations, form: "token=\(token)").status == 403)
    }
  }

  @Test("Whatever is wrong with a login or its password is answered alike, and so often only as it may be")
  func wrong() async throws {
    let files = try TemporaryFolder()
    try files.write("*:*:*:*:\(Self.password)\n", to: "pgpass", mode: 0o600)
    try await with(passfile: files.path("pgpass")) { (visited) async throws in
      func told(_ answer: RawClient.Response) -> String {
        answer.text.replacing(#/value="[0-9a-f]{64}"/#, with: "")
      }
      let first = try visited.tryIn("doctor", "guess")
      #expect(first.status == 403 && first.text.contains("role=\"alert\"") && first.text.contains("<form"))
      for (login, password) in [
        ("nobody", "guess"), ("stranger", Self.password), ("trusted", Self.password), ("", Self.password),
        ("doctor", ""), ("doctor", "\n"), ("doctor", "\0\(Self.password)"), ("doctor\0", Self.password),
        ("doctor" + String(repeating: " ", count: 64), Self.password),
        ("dbname=postgres user=doctor", Self.password),
        ("DOCTOR", Self.password),
      ] {
        let answer = try visited.tryIn(login, password)
        #expect(answer.status == 403 && told(answer) == told(first), "\(login): \(answer.text)")
      }
      #expect(visited.warnings.all.count == 1 && visited.warnings.all[0].contains("pg_hba.conf"))
      for _ in 0..<5 { #expect(try visited.tryIn("doctor", "guess").status == 403) }
      let late = try visited.tryIn("doctor")
      #expect(late.status == 429 && late.text.contains("Try again in 10 s"), "\(late.text)")
      let elsewhere = Self.https.merging(["X-Forwarded-For": "::8"]) { $1 }
      #expect(try visited.tryIn("doctor", Self.password, elsewhere).status == 303, "nobody else is kept out")
      _ = try visited.logIn("operations")
      visited.clock.pass(.seconds(10))
      for _ in 0..<10 { _ = try visited.logIn("doctor") }
      // What the proxy says last is what it has seen.
      for number in 0..<40 {
        _ = try visited.tryIn(
          "n\(number)", "guess", Self.https.merging(["X-Forwarded-For": "1.1.1.\(number), ::7"]) { $1 })
      }
      let other = Self.https.merging(["X-Forwarded-For": "9.9.9.9, ::7"]) { $1 }
      #expect(try visited.tryIn("auditor", Self.password, other).status == 429)
      _ = try visited.logIn("auditor")
    }
  }

  @Test(
    "A session ends by its button, after half an hour without a reader, and after eight hours; then its connections too"
  )
  func ends() async throws {
    try await with { (visited) async throws in
      let (served, clock) = (visited.served, visited.clock)
      let (here, there) = (try visited.logIn("doctor"), try visited.logIn("doctor"))
      #expect(try served.get("/jobs", here).status == 200 && served.get("/jobs", there).status == 200)
      #expect(try await visited.connections("doctor") <= 2)
      let token = try served.form("/jobs", here).token
      #expect(try served.get("/jobs", here).text.contains("action=\"/log-out\""))
      let out = try served.request("POST", "/log-out", here, form: "token=\(token)")
      #expect(
        out.headers["location"] == "/log-in" && out.headers["set-cookie"]?.contains("Max-Age=0") == true)
      #expect(try served.get("/jobs", here).status == 303 && served.get("/jobs", there).status == 200)
      clock.pass(.seconds(1799))
      let live = there.merging(["X-Live": "1"]) { $1 }
      #expect(try served.get("/jobs", live).status == 200)
      clock.pass(.seconds(1))
      #expect(try served.get("/jobs", live).status == 303)
      await served.dashboard.forgetLogins()
      try await eventually("the connections are closed") { try await visited.connections("doctor") == 0 }
      let long = try visited.logIn("doctor")
      for _ in 0..<19 {
        clock.pass(.seconds(1500))
        #expect(try served.get("/jobs", long).status == 200)
      }
      clock.pass(.seconds(300))
      #expect(try served.get("/jobs", long).status == 303)
    }
  }

  @Test(
    "A login that is changed, dropped or without its role loses its pages; another one keeps them",
    arguments: [
      "ALTER ROLE doctor PASSWORD 'other'", "ALTER ROLE doctor NOLOGIN",
      "REVOKE analysis_clinician FROM doctor",
      "ALTER ROLE doctor RENAME TO healer", "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC",
    ])
  func changed(_ sql: String) async throws {
    try await with { (visited) async throws in
      let (doctor, auditor) = (try visited.logIn("doctor"), try visited.logIn("auditor"))
      try await visited.queue.execute("GRANT CONNECT ON DATABASE postgres TO auditor; \(sql)")
      try await visited.cut("doctor")
      #expect(try visited.served.get("/jobs", doctor).status == 303)
      #expect(try visited.served.get("/audit", auditor).status == 200)
    }
  }

  @Test("By a new password a login's older sessions end, and the password is nowhere but in memory")
  func renewed() async throws {
    try await with { (visited) async throws in
      let before = try visited.logIn("doctor")
      try await visited.queue.setPassword("new", of: "doctor")
      let after = try visited.logIn("doctor", "new")
      #expect(try visited.served.get("/jobs", before).status == 303)
      let page = try visited.served.get("/jobs", after)
      #expect(page.status == 200)
      let guess = try visited.tryIn("stranger", Self.password)
      var configuration = visited.queue.pool.configuration
      configuration.login = ("doctor", Secret(Self.password))
      var dumped = ""
      dump(configuration, to: &dumped)
      for text in [visited.cluster.log, dumped, guess.text, page.text, "\(visited.warnings.all)"] {
        #expect(!text.contains(Self.password) && !text.contains(percentEncoded(Self.password)))
      }
    }
  }

  @Test(
    "So many logins at once, each with so many connections; the one that was used least lately makes room")
  func bounds() async throws {
    try await with { (visited) async throws in
      let most = Sessions.mostLogins
      for number in 0...most {
        try await visited.queue.execute("CREATE ROLE n\(number) LOGIN IN ROLE analysis_clinician")
        try await visited.queue.setPassword(Self.password, of: "n\(number)")
      }
      var cookies: [[String: String]] = []
      for number in 0...most {
        cookies.append(try visited.logIn("n\(number)"))
        visited.clock.pass(.seconds(1))
        #expect(try visited.served.get("/jobs", cookies[0]).status == 200)
      }
      #expect(try visited.served.get("/jobs", cookies[1]).status == 303)
      #expect(try visited.served.get("/jobs", cookies[2]).status == 200)
      try await eventually("its connections are closed") { try await visited.connections("n1") == 0 }
      let count = try await visited.queue.number(
        "SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'n%'")
      #expect(count <= 2 * most)
      // Whoever logs in again and again takes the place of nobody else.
      for _ in 0..<40 { _ = try visited.logIn("n0") }
      #expect(try visited.served.get("/jobs", cookies[0]).status == 303)
      #expect(try visited.served.get("/jobs", cookies[2]).status == 200)
    }
  }

  @Test("No password is asked for where others could read it on its way")
  func ways() async throws {
    try await with { (visited) async throws in
      for headers in [[:], ["X-Forwarded-Proto": "http"], ["X-Forwarded-Proto": "https, http"]] {
        let page = try visited.served.get("/log-in", headers)
        #expect(page.status == 403 && !page.text.contains("<form") && page.text.contains("X-Forwarded-Proto"))
        let form = try visited.served.form("/log-in", Self.https)
        let sent = try visited.served.request(
          "POST", "/log-in", headers.merging(["Cookie": form.cookie]) { $1 },
          form: "login=doctor&password=\(percentEncoded(Self.password))&token=\(form.token)")
        #expect(sent.status == 403 && !sent.text.contains("<form") && sent.headers["set-cookie"] == nil)
      }
    }
    try await with(isBehindTLS: false) { (visited) async throws in
      let page = try visited.served.get("/log-in", ["X-Forwarded-Proto": "https"])
      #expect(page.status == 403 && page.text.contains("--behind-tls"))
      let rebound = try RawClient(port: visited.served.server.address.port)
      try rebound.send(raw: Array("GET /log-in HTTP/1.1\r\nHost: clinic.example.org\r\n\r\n".utf8))
      #expect(rebound.receive().status == 421)
      let answer = try visited.tryIn("doctor", Self.password, [:])
      #expect(
        answer.headers["set-cookie"]?.hasPrefix("analysis_session=") == true
          && answer.headers["set-cookie"]?.hasSuffix("; Path=/; HttpOnly; SameSite=Strict") == true)
    }
  }

  @Test("Below a path of a proxy too")
  func below() async throws {
    try await with(below: "/queue") { (visited) async throws in
      #expect(try visited.served.get("/queue/jobs").headers["location"] == "/queue/log-in")
      let answer = try visited.tryIn("doctor")
      #expect(answer.headers["location"] == "/queue/")
      let cookie = try #require(answer.headers["set-cookie"])
      #expect(cookie.hasPrefix("__Secure-analysis_session=") && cookie.contains("; Path=/queue; "))
      let own = ["Cookie": String(cookie.prefix { $0 != ";" })]
      #expect(try visited.served.get("/queue/jobs", own).text.contains("action=\"/queue/log-out\""))
    }
  }
}
