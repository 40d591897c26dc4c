import Foundation
import Glibc
import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@Suite("analysisctl serve as a process", .onOwnThread)
struct ServeProcessTests {
  /// The port on which `analysisctl serve` says that it serves.
  static func port(_ serving: Executable) async throws -> UInt16 {
    var found: UInt16?
    try await eventually("the port") {
      if serving.hasEnded { throw TestSupportError("it has ended: \(serving.messagesSoFar)") }
      found = serving.messagesSoFar.firstMatch(of: /Serving http:\/\/[0-9.]+:([0-9]+)\//).flatMap {
        UInt16($0.1)
      }
      return found != nil
    }
    return try #require(found)
  }

  /// The compose file's own check takes it for well, and a port where nobody listens not.
  private func isFoundWell(port: UInt16) async throws {
    let check = try #require(try await ComposeFile.read().services["metrics"]?.healthcheck?.test)
    try #require(check[0] == "CMD" && check[1] == "bash")
    for (port, isWell) in [(port, true), (UInt16(try FreePort.find()), false)] {
      let arguments = check[2...].map { $0.replacing("127.0.0.1/8080", with: "127.0.0.1/\(port)") }
      #expect((try await HelperProgram.run("/bin/bash", arguments).status == 0) == isWell)
    }
  }

  @Test("serves the queue's metrics, is ready, and ends with 0 when it is told to stop")
  func serves() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic")
      _ = try await queue.submit(3, user: "clinic")
      let serving = try Executable(
        "analysisctl", ["serve", "--listen", "localhost:0"], environment: queue.environment)
      let port = try await Self.port(serving)
      let client = try RawClient(port: port)
      let metrics = try client.request("GET", "/metrics")
      #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
      let text = MetricsText(metrics.text)
      #expect(text["analysis_jobs{state=\"waiting\",type=\"throat\",priority=\"normal\"}"] == 3)
      #expect(text["analysis_workers{state=\"alive\"}"] == 0)
      #expect(try client.request("GET", "/healthz").status == 200)
      let ready = try client.request("GET", "/readyz")
      #expect(ready.status == 200 && ready.json["database"] as? String == "answers")
      if try await ComposeFile.canBeRead() { try await isFoundWell(port: port) }
      if Promtool.isAvailable { #expect(try await Promtool.complaints(ofMetrics: metrics.text) == "") }
      serving.send(SIGTERM)
      let ended = await serving.ended()
      #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
      #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }
  }

  @Test(
    "is for the roles that see a page; another's error names which it needs, with exit code 77",
    arguments: [
      ("operator", true, true), ("auditor", true, true), ("worker", true, true), ("submitter", true, false),
      ("reporter", true, false), ("clinician", true, false), ("reviewer", true, false),
      ("administrator", true, false),
      ("privacy", false, false), ("retention", false, false), ("gateway", false, false),
    ])
  func permission(role: String, isAllowed: Bool, readsStatus: Bool) async throws {
    try await withQueue { queue in
      let environment = try await queue.direct(as: role).environment
      let serving = try Executable(
        "analysisctl", ["serve", "--listen", "127.0.0.1:0"], environment: environment)
      if isAllowed {
        let port = try await Self.port(serving)
        let text = MetricsText(try RawClient(port: port).request("GET", "/metrics").text)
        #expect(text["analysis_database_up"] == 1)
        #expect(text["analysis_submits_refused_total{limit=\"month\"}"] == (readsStatus ? 0 : nil))
        #expect(try RawClient(port: port).request("GET", "/").status == (readsStatus ? 200 : 303))
        #expect(serving.messagesSoFar.contains("may not read the queue's status") == !readsStatus)
        serving.send(SIGTERM)
      }
      let ended = await serving.ended()
      #expect(ended.code == (isAllowed ? 0 : 77), "\(ended.messages)")
      #expect(isAllowed || ended.messages.contains("analysis_operator"), "\(ended.messages)")
    }
  }

  @Test("refuses an address that other machines reach, unless it is told to")
  func loopback() async throws {
    let ended = await (try Executable("analysisctl", ["serve", "--listen", "0.0.0.0:0"])).ended()
    #expect(ended.code == 64 && ended.messages.contains("--listen-from-anywhere"), "\(ended.messages)")
  }

  @Test("serves the dashboard on the loopback, and no page of it to other machines without a token")
  func dashboard() async throws {
    try await withQueue { queue in
      for (address, status) in [("127.0.0.1:0", 200), ("0.0.0.0:0", 404)] {
        let serving = try Executable(
          "analysisctl", ["serve", "--listen", address, "--listen-from-anywhere"],
          environment: queue.environment)
        let port = try await Self.port(serving)
        #expect(try RawClient(port: port).request("GET", "/").status == status, "\(address)")
        #expect(try RawClient(port: port).request("GET", "/healthz").status == 200, "\(address)")
        serving.send(SIGTERM)
        #expect(await serving.ended().code == 0)
      }
    }
  }

  @Test("asks for the token where it has one, and stops while a browser listens")
  func token() async throws {
    try await withQueue { queue in
      let files = try TemporaryFolder()
      let secret = "0123456789abcdef"
      try files.write("\(secret)\n", to: "token")
      chmod(files.path("token"), 0o600)
      let serving = try Executable(
        "analysisctl",
        ["serve", "--listen", "127.0.0.1:0", "--token-file", files.path("token"), "--behind-tls"],
        environment: queue.environment)
      let port = try await Self.port(serving)
      let client = try RawClient(port: port)
      #expect(try client.request("GET", "/").headers["location"] == "/log-in")
      let entered = try client.request(
        "POST", "/log-in", headers: ["Content-Type": "application/x-www-form-urlencoded"],
        body: Array("token=\(secret)".utf8))
      let cookie = try #require(entered.headers["set-cookie"]?.split(separator: ";").first)
      #expect(try client.request("GET", "/", headers: ["Cookie": String(cookie)]).status == 200)
      let listening = try RawClient(port: port)
      try listening.send("GET", "/events", headers: ["Cookie": String(cookie)])
      try listening.expect("retry: 3000")
      serving.send(SIGTERM)
      let ended = await serving.ended()
      #expect(ended.code == 0 && !ended.messages.contains(secret), "\(ended.messages)")
    }
  }

  @Test("has readers log in with a login of the database, and stops while one reads")
  func logIn() async throws {
    try await withPasswords("correct-horse") { (queue, _) async throws in
      let serving = try Executable(
        "analysisctl", ["serve", "--listen", "127.0.0.1:0", "--log-in"], environment: queue.environment)
      let client = try RawClient(port: try await Self.port(serving))
      #expect(try client.request("GET", "/jobs").headers["location"] == "/log-in")
      func logIn(_ password: String) throws -> RawClient.Response {
        let form = try client.request("GET", "/log-in")
        let token = form.text.firstMatch(of: /name="token" value="([0-9a-f]{64})"/).map { String($0.1) } ?? ""
        return try client.request(
          "POST", "/log-in",
          headers: [
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": form.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? "",
          ], body: Array("login=doctor&password=\(password)&token=\(token)".utf8))
      }
      #expect(try logIn("guess").status == 403)
      let cookie = try #require(try logIn("correct-horse").headers["set-cookie"]?.split(separator: ";").first)
      let page = try client.request("GET", "/jobs", headers: ["Cookie": String(cookie)])
      #expect(page.status == 200 && page.text.contains("Shown as login doctor in database"))
      #expect(try client.request("GET", "/metrics").text.contains("analysis_jobs"))
      serving.send(SIGTERM)
      let ended = await serving.ended()
      #expect(ended.code == 0 && !ended.messages.contains("correct-horse"), "\(ended.messages)")
    }
  }

  @Test("refuses a token without TLS, TLS without a token, and a token that others could read or guess")
  func options() async throws {
    let files = try TemporaryFolder()
    for (name, text, mode) in [("open", "0123456789abcdef", 0o644), ("short", "0123456789", 0o600)] {
      try files.write(text, to: name)
      chmod(files.path(name), mode_t(mode))
    }
    for (arguments, code, word) in [
      (["--behind-tls"], 64, "--token-file"), (["--token-file", files.path("short")], 64, "--behind-tls"),
      (["--behind-tls", "--token-file", files.path("short")], 64, "16 characters"),
      (["--behind-tls", "--token-file", files.path("open")], 77, "chmod 600"),
      (["--behind-tls", "--token-file", files.path("none")], 66, "none"),
      (["--log-in", "--token-file", files.path("short")], 64, "--token-file"),
      (["--log-in", "--listen", "0.0.0.0:0", "--listen-from-anywhere"], 64, "--behind-tls"),
      (["--log-in", "--database-proof", "as-given"], 64, "--database-proof"),
      (["--base-path", "queue"], 64, "/queue"), (["--base-path", "/a/../b"], 64, "/queue"),
      (["--base-path", "/metrics"], 64, "another page"),
    ] {
      let ended = await (try Executable("analysisctl", ["serve"] + arguments)).ended()
      #expect(
        ended.code == code && ended.messages.contains(word), "\(arguments): \(ended.code) \(ended.messages)")
    }
  }
}
