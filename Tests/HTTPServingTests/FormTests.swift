import HTTPTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HTTPServing

@Suite("Forms, queries, cookies and paths with a part that varies", .onOwnThread)
struct FormTests {
  private static let formType = ["Content-Type": "application/x-www-form-urlencoded"]

  /// Serves routes that answer with what they were asked.
  private func withServer(
    _ bounds: HTTPServer.Bounds = .patient, _ body: (UInt16) async throws -> Void
  ) async throws {
    @Sendable func echo(_ request: HTTPRequest) -> HTTPAnswer {
      let values = [request.query, request.form].flatMap(\.pairs).map { "\($0.name)=\($0.value)" }
      let parts = [request.method.rawValue, request.path] + request.parameters + values
      return .text(200, (parts + [request.cookies["session"] ?? "none"]).joined(separator: "|"))
    }
    let server = try HTTPServer(
      ListenAddress(host: "127.0.0.1", port: 0),
      [
        HTTPRoute(.get, "/jobs/*") { echo($0) }, HTTPRoute(.post, "/jobs/*/cancel") { echo($0) },
        HTTPRoute(.get, "/jobs/*/cancel") { echo($0) }, HTTPRoute(.get, "/jobs/list") { echo($0) },
        HTTPRoute(.get, "/moved") { _ in .redirect(to: "/jobs/1") },
        HTTPRoute(.get, "/split") { _ in
          var answer = HTTPAnswer.text(200, "here")
          answer.headers = [("X-A", "b\r\nSet-Cookie: a=b"), ("X-B", "c")]
          return answer
        },
      ], bounds: bounds)
    try await body(server.address.port)
    await server.stop()
  }

  @Test(
    "reads what varies in a path, the query and the cookies",
    arguments: [
      ("/jobs/17", "GET|/jobs/17|17|s"), ("/jobs/list", "GET|/jobs/list|s"),
      ("/jobs/a%20b?x=1&y=two+words&x=3", "GET|/jobs/a b|a b|x=1|y=two words|x=3|s"),
      ("/jobs/17/cancel?q=%C3%A4", "GET|/jobs/17/cancel|17|q=ä|s"),
    ])
  func reads(path: String, echo: String) async throws {
    try await withServer { (port) async throws in
      let answer = try RawClient(port: port).request("GET", path, headers: ["Cookie": "a=b; session=s"])
      #expect(answer.status == 200 && answer.text == echo + "\n", "\(answer.text)")
    }
  }

  @Test("takes the fields of a form")
  func form() async throws {
    try await withServer { (port) async throws in
      let answer = try RawClient(port: port).request(
        "POST", "/jobs/17/cancel?a=1", headers: Self.formType,
        body: Array("why=too+late%21&empty=&alone".utf8))
      #expect(
        answer.text == "POST|/jobs/17/cancel|17|a=1|why=too late!|empty=|alone=|none\n", "\(answer.text)")
    }
  }

  @Test(
    "refuses a form that is none",
    arguments: [
      ("application/json", "{}", 415), ("", "a=b", 415), ("multipart/form-data; boundary=x", "a", 415),
      ("application/x-www-form-urlencoded", "a=%zz", 400),
      ("application/x-www-form-urlencoded", "a=%ff", 400),
      ("application/x-www-form-urlencoded", "a=%4", 400),
      ("application/x-www-form-urlencoded; charset=utf-8", "a=b", 200),
    ])
  func refuses(type: String, body: String, status: Int) async throws {
    try await withServer { (port) async throws in
      let answer = try RawClient(port: port).request(
        "POST", "/jobs/1/cancel", headers: ["Content-Type": type], body: Array(body.utf8))
      #expect(answer.status == status, "\(answer.text)")
    }
  }

  @Test("refuses a form that is too large, whether its length is announced or not")
  func tooLarge() async throws {
    var bounds = HTTPServer.Bounds()
    bounds.form = 100
    try await withServer(bounds) { (port) async throws in
      let body = [UInt8](repeating: UInt8(ascii: "x"), count: 101)
      let announced = try RawClient(port: port).request(
        "POST", "/jobs/1/cancel", headers: Self.formType, body: body)
      #expect(announced.status == 413)
      let client = try RawClient(port: port)
      let head =
        "POST /jobs/1/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n65\r\n"
      try client.send(raw: Array(head.utf8) + body + Array("\r\n0\r\n\r\n".utf8))
      #expect(client.receive().status != 200)
    }
  }

  @Test("says of a form that took too long that a part may be done")
  func tooLong() async throws {
    var bounds = HTTPServer.Bounds()
    bounds.answer = .milliseconds(50)
    let slow = HTTPRoute(.post, "/slow") { _ in
      try? await Task.sleep(for: .seconds(600))
      return .text(200, "late")
    }
    let server = try HTTPServer(ListenAddress(host: "127.0.0.1", port: 0), [slow], bounds: bounds)
    let answer = try RawClient(port: server.address.port).request(
      "POST", "/slow", headers: Self.formType, body: Array("a=b".utf8))
    #expect(answer.status == 503 && answer.text.contains("A part of it may be done"), "\(answer.text)")
    await server.stop()
  }

  @Test(
    "says by what a page may be asked, and that there is none",
    arguments: [
      ("POST", "/jobs/1", 405, "GET, HEAD"), ("PUT", "/jobs/1/cancel", 405, "POST, GET, HEAD"),
      ("GET", "/jobs/", 404, ""), ("GET", "/jobs/1/2/3", 404, ""), ("GET", "/jobs/1%2Fcancel/x", 404, ""),
    ])
  func faults(method: String, path: String, status: Int, allow: String) async throws {
    try await withServer { (port) async throws in
      let answer = try RawClient(port: port).request(method, path, headers: Self.formType)
      #expect(answer.status == status && answer.headers["allow"] ?? "" == allow, "\(answer)")
    }
  }

  @Test("sends a browser elsewhere, and lets no line break into a header")
  func headers() async throws {
    try await withServer { (port) async throws in
      let moved = try RawClient(port: port).request("GET", "/moved")
      #expect(moved.status == 303 && moved.headers["location"] == "/jobs/1")
      let split = try RawClient(port: port).request("GET", "/split")
      #expect(
        split.headers["x-b"] == "c" && split.headers["x-a"] == nil && split.headers["set-cookie"] == nil)
    }
  }
}

@Suite("Events for browsers that listen", .onOwnThread)
struct EventTests {
  private func withEvents(
    atMost most: Int, _ body: (HTTPEvents, HTTPServer) async throws -> Void
  ) async throws {
    let events = HTTPEvents(atMost: most)
    let server = try HTTPServer(
      ListenAddress(host: "127.0.0.1", port: 0),
      [HTTPRoute(.get, "/events") { _ in .events(events) }, HTTPRoute("/page") { .text(200, "here") }],
      bounds: .patient, events: events)
    try await body(events, server)
    await server.stop()
  }

  private func listener(_ server: HTTPServer) throws -> RawClient {
    let client = try RawClient(port: server.address.port)
    try client.send("GET", "/events")
    return client
  }

  @Test("reach all who listen, and those who have gone are found by the next one")
  func send() async throws {
    try await withEvents(atMost: 3) { (events, server) async throws in
      let clients = try (0..<3).map { _ in try listener(server) }
      for client in clients { try client.expect("retry: 3000\n\n") }
      #expect(events.listeners == 3)
      events.send("changed", "17")
      for client in clients { try client.expect("event: changed\ndata: 17\n\n") }
      clients[0].close()
      try await eventually("one to be gone") {
        events.send("changed")
        return events.listeners == 2
      }
    }
  }

  @Test("are refused to more than may listen, while pages go on")
  func bounded() async throws {
    try await withEvents(atMost: 1) { (events, server) async throws in
      let first = try listener(server)
      try first.expect("retry: 3000\n\n")
      #expect(try RawClient(port: server.address.port).request("GET", "/events").status == 503)
      #expect(try RawClient(port: server.address.port).request("GET", "/page").status == 200)
      #expect(events.listeners == 1)
    }
  }

  @Test("end when the server stops")
  func stop() async throws {
    try await withEvents(atMost: 2) { (events, server) async throws in
      let client = try listener(server)
      try client.expect("retry: 3000\n\n")
      await server.stop()
      #expect(!client.untilClosed().contains("event:"))
      #expect(events.listeners == 0)
    }
  }
}
