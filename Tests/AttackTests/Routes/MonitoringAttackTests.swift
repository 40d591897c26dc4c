import EventLoop
import HTTPTestSupport
import Synchronization
import TestSupport
import Testing

@testable import CommandLineTool
@testable import HTTPServing
@testable import Support

/// Bytes that somebody who reaches the listener of `--metrics` or `serve` sends to it.
struct MonitoringAttack: Sendable {
  /// What is tried, in words.
  let tries: String
  /// What is sent; `{path}` stands for each of the pages in turn.
  let request: String
  /// What has to be answered; 0 where the connection has to be closed without an answer.
  let statuses: Set<Int>

  init(_ tries: String, _ request: String, is statuses: Int...) {
    self.tries = tries
    self.request = request
    self.statuses = Set(statuses)
  }

  private static let host = "Host: localhost\r\n"

  static let all: [MonitoringAttack] = [
    MonitoringAttack("writes to it", "POST {path} HTTP/1.1\r\n\(host)Content-Length: 2\r\n\r\n{}", is: 405),
    MonitoringAttack("deletes it", "DELETE {path} HTTP/1.1\r\n\(host)\r\n", is: 405),
    MonitoringAttack("asks by a method that there is not", "BREW {path} HTTP/1.1\r\n\(host)\r\n", is: 405),
    MonitoringAttack("has it echo the request", "TRACE {path} HTTP/1.1\r\n\(host)\r\n", is: 405),
    MonitoringAttack(
      "tunnels through it", "CONNECT localhost:5432 HTTP/1.1\r\n\(host)\r\n", is: 404, 405, 400),
    MonitoringAttack(
      "sends a body without end", "GET {path} HTTP/1.1\r\n\(host)Content-Length: 1000000000000\r\n\r\n",
      is: 413),
    MonitoringAttack(
      "sends a body of a negative length", "GET {path} HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n",
      is: 400, 413, 0),
    MonitoringAttack(
      "sends a body in chunks without end",
      "GET {path} HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n2000\r\n\(String(repeating: "x", count: 8192))\r\n",
      is: 0),
    MonitoringAttack(
      "sends a header that is larger than its buffer",
      "GET {path} HTTP/1.1\r\n\(host)X: \(String(repeating: "x", count: 100_000))\r\n\r\n", is: 431, 413),
    MonitoringAttack(
      "sends thousands of headers",
      "GET {path} HTTP/1.1\r\n\(host)\(String(repeating: "A: b\r\n", count: 20_000))\r\n", is: 431, 413),
    MonitoringAttack(
      "sends a path that is larger than its buffer",
      "GET {path}?\(String(repeating: "x", count: 100_000)) HTTP/1.1\r\n",
      is: 414, 431, 413),
    MonitoringAttack(
      "puts a header into the answer by the path",
      "GET {path}%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\n\(host)\r\n", is: 404),
    MonitoringAttack(
      "puts a header into the answer by the query",
      "GET {path}?a=%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\n\(host)\r\n",
      is: 200),
    MonitoringAttack(
      "puts a header into the answer by a header",
      "GET {path} HTTP/1.1\r\n\(host)X-A: b\rSet-Cookie: a=b\r\n\r\n", is: 200,
      400),
    MonitoringAttack(
      "leaves the pages by the path", "GET {path}/../../../../etc/passwd HTTP/1.1\r\n\(host)\r\n", is: 404),
    MonitoringAttack(
      "leaves the pages by an escaped path", "GET {path}/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n\(host)\r\n",
      is: 404),
    MonitoringAttack(
      "ends the path by a NUL", "GET {path}%00.html HTTP/1.1\r\n\(host)\r\n", is: 404, 200, 400),
    MonitoringAttack(
      "asks for it as another host, as a page of the web does whose name stands for this machine",
      "GET {path} HTTP/1.1\r\nHost: rebound.example.org\r\n\r\n", is: 421),
    MonitoringAttack(
      "asks for it as a host that begins like this machine",
      "GET {path} HTTP/1.1\r\nHost: 127.0.0.1.example.org\r\n\r\n", is: 421),
    MonitoringAttack(
      "asks for it as a host of four labels that begins like this machine",
      "GET {path} HTTP/1.1\r\nHost: 127.x.evil.com\r\n\r\n", is: 421),
    MonitoringAttack(
      "asks for it as a host of four labels with a port",
      "GET {path} HTTP/1.1\r\nHost: 127.x.evil.com:9464\r\n\r\n", is: 421),
    MonitoringAttack(
      "asks for it as a host that begins with an address of this machine",
      "GET {path} HTTP/1.1\r\nHost: 127.0.0.1.evil.com\r\n\r\n", is: 421),
    MonitoringAttack(
      "asks for it as a host that begins with an address of this machine in brackets",
      "GET {path} HTTP/1.1\r\nHost: [::1].evil.com\r\n\r\n", is: 421),
    MonitoringAttack(
      "puts a name after the port of this machine",
      "GET {path} HTTP/1.1\r\nHost: [::1]:80.evil.com\r\n\r\n", is: 421),
    MonitoringAttack("names no host, which no browser does", "GET {path} HTTP/1.1\r\n\r\n", is: 200, 400),
    MonitoringAttack("speaks another version", "GET {path} HTTP/9.9\r\n\(host)\r\n", is: 400, 505, 200),
    MonitoringAttack(
      "speaks no HTTP", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\r\n\r\n{path}\r\n\r\n", is: 400, 404, 405, 0),
    MonitoringAttack(
      "hides a second request in the first",
      "GET {path} HTTP/1.1\r\n\(host)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
      is: 200, 400, 404),
  ]
}

@Suite("Who reaches the metrics of a program gets no more than its pages", .onOwnThread)
struct MonitoringAttackTests {
  private static let metric = MetricDefinition("attacked", .gauge, help: "Attacked")

  private func server(_ bounds: HTTPServer.Bounds = .patient) throws -> HTTPServer {
    let loop = try EventLoop(name: "attacked")
    let pages = MonitoringPages(
      metrics: { [Self.metric.value(1)] }, loops: [loop], readiness: { ServiceReadiness(isReady: true, []) })
    return try HTTPServer(ListenAddress(host: "127.0.0.1", port: 0), pages.routes, bounds: bounds)
  }

  @Test("Each request is answered as the table says, nothing of it comes back, and the next one is served")
  func requests() async throws {
    let server = try server()
    for attack in MonitoringAttack.all {
      for path in MonitoringPages.paths {
        let client = try RawClient(port: server.address.port)
        // A server that has refused may have closed before all is sent.
        try? client.send(raw: Array(attack.request.replacing("{path}", with: path).utf8))
        let answer = client.receive()
        #expect(attack.statuses.contains(answer.status), "\(attack.tries): \(answer.status) of \(path)")
        #expect(answer.headers["set-cookie"] == nil, "\(attack.tries)")
        #expect(!answer.text.contains("root:"), "\(attack.tries)")
      }
    }
    for path in MonitoringPages.paths {
      #expect(try RawClient(port: server.address.port).request("GET", path).status == 200)
    }
    await server.stop()
  }

  @Test("Clients that send nothing, or not to the end, keep nobody out")
  func slow() async throws {
    let server = try server()
    var clients: [RawClient] = []
    for number in 0..<300 {
      let client = try RawClient(port: server.address.port)
      if number % 2 == 0 { try? client.send(raw: Array("GET /metrics HTTP/1.1\r\nHost: loc".utf8)) }
      clients.append(client)
    }
    #expect(try RawClient(port: server.address.port).request("GET", "/metrics").status == 200)
    // The oldest were closed for the newest.
    #expect(clients[0].receive().status == 0)
    #expect(clients.count == 300)
    await server.stop()
  }

  @Test("A client that says nothing is closed after a time")
  func idle() async throws {
    var bounds = HTTPServer.Bounds()
    bounds.daemon.idleSeconds = 1
    let server = try server(bounds)
    let client = try RawClient(port: server.address.port)
    try client.send(raw: Array("GET /metrics HTTP/1.1\r\n".utf8))
    let answer = client.receive()
    #expect(answer.ending != .complete || answer.status == 408)
    await server.stop()
  }

  @Test("Every page is tried by every attack")
  func covered() {
    #expect(MonitoringPages.paths.count == 3)
    #expect(
      MonitoringAttack.all.filter { $0.request.contains("{path}") }.count >= MonitoringAttack.all.count - 1)
  }
}
