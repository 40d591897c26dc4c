import Dispatch
import Foundation
import HTTPTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HTTPServing
@testable import Support

@Suite("The HTTP server of the installed programs", .onOwnThread)
struct HTTPServerTests {
  private static let loopback = ListenAddress(host: "127.0.0.1", port: 0)

  private func server(
    _ bounds: HTTPServer.Bounds = .patient,
    _ page: @escaping @Sendable () async -> HTTPAnswer = { .text(200, "here") }
  ) throws -> HTTPServer {
    try HTTPServer(Self.loopback, [HTTPRoute("/page", page)], bounds: bounds)
  }

  @Test("answers a page, and again on the same connection")
  func page() async throws {
    let server = try server()
    let client = try RawClient(port: server.address.port)
    for _ in 0..<3 {
      let answer = try client.request("GET", "/page?with=query")
      #expect(answer.status == 200 && answer.text == "here\n")
      #expect(answer.headers["cache-control"] == "no-store")
      #expect(answer.headers["x-content-type-options"] == "nosniff")
    }
    await server.stop()
  }

  /// The limit is no measurement: one stop that misses its own wake-up waits for the open connection's time to be over.
  @Test("is stopped at once, whatever woke it a moment before", .timeLimit(.minutes(1)))
  func stopped() async throws {
    for _ in 0..<1000 {
      let server = try server()
      let client = try RawClient(port: server.address.port)
      #expect(try client.request("GET", "/page").status == 200)
      await server.stop()
    }
  }

  @Test("leaves the body out of the answer to HEAD")
  func head() async throws {
    let server = try server()
    let client = try RawClient(port: server.address.port)
    try client.send("HEAD", "/page", headers: ["Connection": "close"])
    let answer = client.receive()
    #expect(answer.status == 200 && answer.headers["content-length"] == "5")
    #expect(answer.body.isEmpty && answer.ending == .closedEarly)
    await server.stop()
  }

  @Test(
    "answers what is no page of its own by the status of the fault",
    arguments: [
      ("GET", "/", 404), ("GET", "/page/", 200), ("GET", "/page//", 404),
      ("GET", "/page/../page", 404), ("GET", "/%70age", 200),
      ("GET", "//page", 404), ("POST", "/page", 405), ("DELETE", "/page", 405), ("BREW", "/page", 405),
      ("OPTIONS", "/page", 405), ("TRACE", "/page", 405),
    ])
  func faults(method: String, path: String, status: Int) async throws {
    let server = try server()
    let answer = try RawClient(port: server.address.port).request(method, path)
    #expect(answer.status == status)
    if status == 405 { #expect(answer.headers["allow"] == "GET, HEAD") }
    await server.stop()
  }

  @Test(
    "refuses a path with a zero byte, which would end there",
    arguments: ["/page%00", "/page%00x", "/%00", "/page%00?a=b"])
  func zeroByte(path: String) async throws {
    let server = try server()
    for method in ["GET", "POST"] {
      let answer = try RawClient(port: server.address.port).request(method, path)
      #expect(answer.status == 400 && answer.text.contains("zero byte"), "\(method): \(answer.status)")
    }
    let client = try RawClient(port: server.address.port)
    #expect(try client.request("GET", "/page").status == 200)
    #expect(try client.request("GET", "/page?a=%00").status == 200, "what follows the path is the page's")
    #expect(try client.request("GET", "/page%2500").status == 404)
    await server.stop()
  }

  @Test(
    "answers who names this machine by its loopback, and nobody else",
    arguments: [
      ("localhost", 200), ("localhost:8080", 200), ("127.0.0.1", 200), ("127.1.2.3:9464", 200),
      ("[::1]", 200), ("[::1]:9464", 200), ("127.x.evil.com", 421), ("127.0.0.1.evil.com", 421),
      ("127.0.0", 421), ("127.0.0.256", 421), ("[::1].evil.com", 421), ("[::1]evil.com:80", 421),
      ("[::1", 421), ("::1", 421), ("localhost.evil.com", 421), ("10.0.0.1", 421), ("LOCALHOST", 200),
      ("Localhost.", 200), ("localhost.:8080", 200), ("127.0.0.1.:80", 200), ("localhost..", 421),
      ("localhost.evil.com.", 421),
    ])
  func hosts(host: String, status: Int) async throws {
    let server = try server()
    let client = try RawClient(port: server.address.port)
    try client.send(raw: Array("GET /page HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8))
    #expect(client.receive().status == status)
    await server.stop()
  }

  @Test("makes many pages at once without a thread for each")
  func many() async throws {
    let waiting = Mutex(0)
    let opened = OpenedGate()
    let server = try server {
      waiting.withLock { $0 += 1 }
      await opened.wait()
      return .text(200, "here")
    }
    let clients = try (0..<24).map { _ in try RawClient(port: server.address.port) }
    for client in clients { try client.send("GET", "/page") }
    try await eventually("all to be asked for") { waiting.withLock { $0 } == 24 }
    await opened.open()
    for client in clients { #expect(client.receive().status == 200) }
    await server.stop()
  }

  @Test("answers a new client while others hold every connection and do not read what they asked for")
  func unread() async throws {
    // More than the sockets take up by themselves, so that these answers are never sent as a whole.
    let large = HTTPAnswer(contentType: "text/plain", body: [UInt8](repeating: 0x61, count: 8 << 20))
    var bounds = HTTPServer.Bounds()
    bounds.daemon.connections = 2
    bounds.daemon.idleSeconds = 0
    let asked = Mutex(0)
    let server = try HTTPServer(
      Self.loopback,
      [
        HTTPRoute("/page") {
          asked.withLock { $0 += 1 }
          return large
        },
        HTTPRoute("/healthz") {
          asked.withLock { $0 = -1 }
          return .text(200, "here")
        },
      ], bounds: bounds)
    var silent: [RawClient] = []
    for number in 1...24 {
      let client = try RawClient(port: server.address.port)
      try client.send("GET", "/page")
      try await eventually("client \(number) to be heard") { asked.withLock { $0 } == number }
      silent.append(client)
    }
    let client = try RawClient(port: server.address.port)
    try client.send("GET", "/healthz")
    try await eventually("the new client to be heard") { asked.withLock { $0 } == -1 }
    #expect(client.receive().status == 200)
    for client in silent { client.close() }
    await server.stop()
  }

  @Test(
    "refuses what a proxy before it may read otherwise: two lengths, two hosts, a coding; and reads nothing behind it",
    arguments: [
      "Content-Length: 0\r\nContent-Length: 44\r\n", "Content-Length: 0\r\ncontent-length: 0\r\n",
      "Content-Length: 44\r\nContent-Length: 0\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n",
      "Host: evil.example\r\nContent-Length: 0\r\n", "Content-Length : 44\r\n", "Content-Length\t: 44\r\n",
      "Transfer-Encoding : chunked\r\n", "Content-Length:\r\n 44\r\n", "Content-Length: 4\r\n 4\r\n",
      "Transfer-Encoding:\r\n\tchunked\r\n", "X: a\r\n b\r\n", "X: a\r\n \r\n",
      "X: a\rContent-Length: 44\r\n",
      "X: a\r\r\n", "X\r: a\r\n", "X: a\0b\r\n", "X: a\0\r\nContent-Length: 44\r\n",
      "X: a\nContent-Length: 44\r\n",
      "X: a\n", "X: \u{1}\r\n", "X: \u{7F}\r\n", "X(y): a\r\n", ": a\r\n", "X\u{E9}: a\r\n", "\n",
    ])
  func ambiguous(headers: String) async throws {
    let server = try server()
    let client = try RawClient(port: server.address.port)
    let hidden = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try client.send(raw: Array("GET /page HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\(hidden)".utf8))
    let answers = client.untilClosed()
    #expect(answers.hasPrefix("HTTP/1.1 400 ") && !answers.contains("HTTP/1.1 200 "), "\(answers)")
    await server.stop()
  }

  @Test(
    "refuses a first line that a proxy before it may read otherwise, and reads nothing behind it",
    arguments: [
      "GET  /page HTTP/1.1", "GET /page HTTP/1.1 ", "GET /page x HTTP/1.1", "GET /page\0x HTTP/1.1",
      "GET /page\0HTTP/1.1\0 HTTP/1.1", "GET /page?a=\0 HTTP/1.1", "GET /pa\rge HTTP/1.1",
      "G(T /page HTTP/1.1",
      "GET /page", "GET /page HTTP/1.1\r",
    ])
  func firstLine(line: String) async throws {
    let server = try server()
    let client = try RawClient(port: server.address.port)
    let request = "\(line)\r\nHost: localhost\r\n\r\nGET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try client.send(raw: Array(request.utf8))
    let answers = client.untilClosed()
    #expect(answers.hasPrefix("HTTP/1.1 400 ") && !answers.contains("HTTP/1.1 200 "), "\(answers)")
    await server.stop()
  }

  @Test(
    "answers once what it refuses by itself: a length that is none or too large, and too many cookies",
    arguments: [
      ("Content-Length: abc", 400), ("Content-Length: -1", 400), ("Content-Length: 1x", 400),
      ("Content-Length: +3", 400), ("Content-Length:", 400), ("Content-Length: 3, 3", 400),
      ("Content-Length: 99999999999999999999999", 413),
      ("Cookie: \(String(repeating: "a=b; ", count: 5000))", 431),
      ("X: \(String(repeating: "a", count: 60_000))", 431),
    ], [false, true])
  func answersOnce(refused: (header: String, status: Int), inPieces: Bool) async throws {
    let server = try server()
    let client = try RawClient(port: server.address.port)
    // Others have sent as much, and are not answered.
    let others = try (0..<3).map { _ in try RawClient(port: server.address.port) }
    for other in others { try other.send(raw: Array("GET /page HTTP/1.1\r\nHost: localhost\r\n".utf8)) }
    if inPieces { try client.send(raw: Array("POST /page HTTP/1.1\r\n".utf8)) }
    let rest = "Host: localhost\r\n\(refused.header)\r\n\r\nabc"
    try client.send(raw: Array(((inPieces ? "" : "POST /page HTTP/1.1\r\n") + rest).utf8))
    let answer = client.receive()
    #expect(answer.status == refused.status, "\(answer.text)")
    #expect(answer.headers["connection"] == "close")
    #expect(!answer.text.contains("HTTP/1.1") && client.untilClosed() == "", "\(answer.text)")
    for other in others {
      try other.send(raw: Array("\r\n".utf8))
      #expect(other.receive().status == 200)
    }
    await server.stop()
  }

  @Test("asks for one host by HTTP/1.1, for none by HTTP/1.0, which has no chunks")
  func versions() async throws {
    let server = try server()
    func ask(_ text: String) throws -> Int {
      let client = try RawClient(port: server.address.port)
      try client.send(raw: Array(text.utf8))
      return client.receive().status
    }
    #expect(try ask("GET /page HTTP/1.1\r\n\r\n") == 400)
    #expect(try ask("GET /page HTTP/1.0\r\n\r\n") == 200)
    #expect(try ask("GET /page HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400)
    #expect(try ask("\r\nGET /page HTTP/1.1\r\nhOST:\t localhost\r\nX:\r\nY: \u{E9} \t\r\n\r\n") == 200)
    await server.stop()
  }

  @Test("answers a client that has closed its side, also when that comes while its page is made")
  func halfClosed() async throws {
    let opened = OpenedGate()
    let begun = Mutex(0)
    let server = try server {
      begun.withLock { $0 += 1 }
      await opened.wait()
      return .text(200, "here")
    }
    let clients = try (0..<2).map { _ in try RawClient(port: server.address.port) }
    for client in clients { try client.send("GET", "/page") }
    clients[0].closeSide()
    try await eventually("both to be asked for") { begun.withLock { $0 } == 2 }
    clients[1].closeSide()
    await opened.open()
    for client in clients {
      #expect(client.receive().status == 200)
      #expect(client.untilClosed().isEmpty)
    }
    await server.stop()
  }

  @Test("answers all who ask at one moment, however many they are", arguments: [127, 128, 129, 256])
  func atOneMoment(count: Int) async throws {
    let isHeld = DispatchSemaphore(value: 0)
    let hold: @Sendable () -> Void = { isHeld.wait() }
    let hasBegun = Mutex(false)
    var bounds = HTTPServer.Bounds.patient
    bounds.daemon.connections = 300
    let server = try HTTPServer(
      Self.loopback,
      [
        HTTPRoute("/page") { .text(200, "here") },
        HTTPRoute(
          .post, "/hold", bodyUpTo: 1,
          admit: { _ in
            // On the only thread that serves, which sees nothing meanwhile.
            hasBegun.withLock { $0 = true }
            hold()
            return .text(200, "held")
          }, { _ in .text(500, "") }),
      ], bounds: bounds)
    let clients = try (0..<count).map { _ in try RawClient(port: server.address.port) }
    for client in clients { #expect(try client.request("GET", "/page").status == 200) }
    let holder = try RawClient(port: server.address.port)
    try holder.send("POST", "/hold")
    try await eventually("it to be held") { hasBegun.withLock { $0 } }
    for client in clients { try client.send("GET", "/page") }
    isHeld.signal()
    for client in clients { #expect(client.receive().status == 200) }
    await server.stop()
  }

  @Test(
    "says what is there and how it is asked for by any name, where a page is shown by any",
    arguments: [
      ("GET", "/other", 404, nil), ("POST", "/page", 405, "GET, HEAD"),
      ("OPTIONS", "/page", 405, "GET, HEAD"),
      ("BREW", "/page", 405, "GET, HEAD"), ("GET", "/page", 200, nil), ("GET", "/own", 421, nil),
      ("POST", "/own", 421, nil),
    ])
  func anyName(method: String, path: String, status: Int, allow: String?) async throws {
    var page = HTTPRoute("/page") { .text(200, "here") }
    page.answersAnyName = true
    let own = HTTPRoute("/own") { .text(200, "here") }
    let server = try HTTPServer(Self.loopback, [page, own], bounds: .patient)
    let client = try RawClient(port: server.address.port)
    try client.send(raw: Array("\(method) \(path) HTTP/1.1\r\nHost: api.example.org\r\n\r\n".utf8))
    let answer = client.receive()
    #expect(answer.status == status && answer.headers["allow"] == allow, "\(answer)")
    #expect(answer.headers.keys.allSatisfy { !$0.hasPrefix("access-control") && $0 != "vary" })
    await server.stop()
  }

  @Test("lets the pages of the sites that are named ask, and no others")
  func crossOrigin() async throws {
    let server = try HTTPServer(
      Self.loopback,
      [
        HTTPRoute("/page") { .text(200, "here") },
        HTTPRoute(.post, "/page", bodyUpTo: 1) { _ in .text(201, "made") },
      ], bounds: .patient,
      crossOrigin: CrossOrigin(
        origins: ["https://app.example.org"], requestHeaders: ["Authorization", "Content-Type"],
        answerHeaders: ["Location"]))
    let client = try RawClient(port: server.address.port)
    let asks = ["Origin": "https://app.example.org", "Access-Control-Request-Method": "POST"]
    let may = try client.request("OPTIONS", "/page", headers: asks)
    #expect(may.status == 204 && may.headers["access-control-allow-origin"] == "https://app.example.org")
    #expect(may.headers["access-control-allow-methods"] == "GET, HEAD, POST")
    #expect(may.headers["access-control-allow-headers"] == "Authorization, Content-Type")
    let read = try client.request("GET", "/page", headers: ["Origin": "https://app.example.org"])
    #expect(read.status == 200 && read.headers["access-control-allow-origin"] == "https://app.example.org")
    #expect(read.headers["access-control-expose-headers"] == "Location" && read.headers["vary"] == "Origin")
    #expect(read.headers["access-control-allow-credentials"] == nil)
    for origin in ["https://evil.example.org", "http://app.example.org", "null", "HTTPS://app.example.org"] {
      let other = try RawClient(port: server.address.port)
      let refused = try other.request("OPTIONS", "/page", headers: asks.merging(["Origin": origin]) { $1 })
      #expect(refused.status == 405 && refused.headers["access-control-allow-origin"] == nil)
      let own = try RawClient(port: server.address.port).request("GET", "/page", headers: ["Origin": origin])
      #expect(own.status == 200 && own.headers["access-control-allow-origin"] == nil)
    }
    #expect(
      try RawClient(port: server.address.port).request("OPTIONS", "/other", headers: asks).status == 404)
    #expect(CrossOrigin.isOrigin("https://app.example.org:8443") && CrossOrigin.isOrigin("http://[::1]:80"))
    for text in [
      "*", "null", "app.example.org", "https://", "https://a/", "https://a b", "HTTPS://a", "https://*",
    ] {
      #expect(!CrossOrigin.isOrigin(text), "\(text)")
    }
    await server.stop()
  }

  @Test(
    "speaks TLS 1.2 and 1.3 with forward secrecy, and nothing older",
    arguments: [
      (["--tls-max", "1.3"], true), (["--tls-max", "1.2"], true),
      (["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"], true),
      (["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES256-SHA:ECDHE-ECDSA-AES256-SHA"], false),
      (["--tls-max", "1.2", "--ciphers", "AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA"], false),
      (["--tls-max", "1.2", "--ciphers", "DHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256"], false),
      (["--tlsv1.1", "--tls-max", "1.1", "--ciphers", "DEFAULT:@SECLEVEL=0"], false),
      (["--tlsv1.0", "--tls-max", "1.0", "--ciphers", "DEFAULT:@SECLEVEL=0"], false),
    ])
  func security(options: [String], isTaken: Bool) async throws {
    guard Authority.isAvailable else { return }
    let authority = try await Authority(.rsa)
    let certificate = try await authority.certificate(names: "IP:127.0.0.1")
    let server = try HTTPServer(
      Self.loopback, [HTTPRoute("/page") { .text(200, "here") }], bounds: .patient,
      security: HTTPDaemon.TransportSecurity(
        certificate: try String(contentsOfFile: certificate, encoding: .utf8),
        key: try String(contentsOfFile: authority.key, encoding: .utf8)))
    let ended = try await HelperProgram.run(
      "/usr/bin/curl",
      ["-sS", "--cacert", authority.file] + options + ["https://127.0.0.1:\(server.address.port)/page"])
    #expect((ended.status == 0) == isTaken, "\(ended)")
    await server.stop()
  }

  @Test("reads what stands behind the question mark as it was escaped, a zero byte too")
  func zeroBytes() async throws {
    let server = try HTTPServer(
      Self.loopback,
      [
        HTTPRoute(.get, "/page") { request in
          .text(
            200,
            request.query.pairs.map { "\($0.name.utf8.count)=\($0.value.utf8.count)" }.joined(separator: "&"))
        }
      ])
    let answer = try RawClient(port: server.address.port).request("GET", "/page?a=%00&b%00=c%00d&e=")
    #expect(answer.text == "1=1&2=3&1=0\n")
    await server.stop()
  }

  @Test("answers 503 when a page takes too long, and cancels what makes it")
  func tooLong() async throws {
    var bounds = HTTPServer.Bounds()
    bounds.answer = .milliseconds(50)
    let wasCancelled = Mutex(false)
    let server = try server(bounds) {
      do { try await Task.sleep(for: .seconds(600)) } catch { wasCancelled.withLock { $0 = true } }
      return .text(200, "late")
    }
    let answer = try RawClient(port: server.address.port).request("GET", "/page")
    #expect(answer.status == 503)
    try await eventually("the end of what made it") { wasCancelled.withLock { $0 } }
    await server.stop()
  }

  @Test("tells of the status of each answer once, its own refusals and a page that took too long among them")
  func answered() async throws {
    var bounds = HTTPServer.Bounds()
    bounds.answer = .milliseconds(300)
    bounds.daemon.leastPace = .init(silence: .milliseconds(300), bytesPerSecond: 1000)
    let statuses = Mutex<[Int]>([])
    let hasEnded = Mutex(false)
    let events = HTTPEvents(atMost: 1)
    let server = try HTTPServer(
      Self.loopback,
      [
        HTTPRoute("/page") { .text(200, "here") }, HTTPRoute("/events") { .events(events) },
        HTTPRoute("/slow") {
          try? await Task.sleep(for: .seconds(600))
          hasEnded.withLock { $0 = true }
          return .text(200, "late")
        },
      ], bounds: bounds, events: events, answered: { status in statuses.withLock { $0.append(status) } })
    let port = server.address.port
    var expected: [Int] = []
    func ask(_ path: String, _ method: String = "GET", is status: Int) throws {
      expected.append(status)
      #expect(try RawClient(port: port).request(method, path).status == status)
      #expect(statuses.withLock { $0 } == expected)
    }
    let listener = try RawClient(port: port)
    try listener.send("GET", "/events")
    try listener.expect("retry: ")
    expected.append(200)
    try ask("/events", is: 503)
    try ask("/page", is: 200)
    try ask("/", is: 404)
    try ask("/page", "POST", is: 405)
    try ask("/slow", is: 503)
    try await eventually("the late page") { hasEnded.withLock { $0 } }
    let slow = try RawClient(port: port)
    try slow.send(raw: Array("GET /page HT".utf8))
    #expect(slow.receive().status == 408)
    expected.append(408)
    try await eventually("the last") { statuses.withLock { $0.count } >= expected.count }
    #expect(statuses.withLock { $0 } == expected)
    await server.stop()
  }

  @Test("stops while pages are being made, and listens no more")
  func stops() async throws {
    let begun = Mutex(0)
    let opened = OpenedGate()
    let server = try server {
      begun.withLock { $0 += 1 }
      await opened.wait()
      return .text(200, "late")
    }
    let port = server.address.port
    let clients = try (0..<5).map { _ in try RawClient(port: port) }
    for client in clients { try client.send("GET", "/page") }
    try await eventually("all to be asked for") { begun.withLock { $0 } == 5 }
    await server.stop()
    for client in clients { #expect(client.receive().status != 200) }
    #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    await opened.open()
  }

  @Test("says which address it cannot listen on, and why")
  func taken() async throws {
    let server = try server()
    let error = #expect(throws: HTTPServingError.self) { try HTTPServer(server.address, []) }
    #expect(error?.description == "cannot listen on \(server.address): another program listens there")
    await server.stop()
  }

  @Test("listens on IPv6 too")
  func version6() async throws {
    let server = try HTTPServer(
      ListenAddress(host: "::1", port: 0), [HTTPRoute("/page") { .text(200, "here") }], bounds: .patient)
    let body = try await HelperProgram.output("/usr/bin/curl", ["-sg", "http://\(server.address)/page"])
    #expect(String(decoding: body, as: UTF8.self) == "here\n")
    await server.stop()
  }
}

/// Lets everybody through once it is open.
private actor OpenedGate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func wait() async {
    if isOpen { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}
