import EventLoop
import HTTPTestSupport
import PostgreSQL
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPServing
@testable import Images
@testable import Support

@Suite("A gateway whose database does not answer", .onOwnThread)
struct DatabaseAwayTests {
  /// A server in place of the database: none, or one that takes connections and says nothing.
  enum Fault: CaseIterable { case refused, silent }

  @Test(
    "says so at once, and when to come again, however long its calls might wait", arguments: Fault.allCases)
  func refuses(fault: Fault) async throws {
    let port = try ReservedPort()
    let silent = fault == .silent ? try RawServer(on: port) { $0.waitForClose() } : nil
    defer { silent?.stop() }
    let loop = try EventLoop(name: "gateway")
    // Nobody here waits for so long: what ends the calls is that the database was seen to be away.
    var configuration = GatewayConfiguration(
      database: ConnectionConfiguration(
        "host=127.0.0.1 port=\(port.port) user=nobody dbname=none sslmode=disable",
        connectTimeout: .seconds(3600), defaultDeadline: .seconds(3600)))
    configuration.deadline = .seconds(3600)
    let gateway = Gateway(configuration, loop: loop, log: .discard, version: "1")
    let server = try gateway.serve(at: ListenAddress(host: "127.0.0.1", port: 0))
    let headers = [
      "Authorization": "Bearer \(try UserToken(shard: 0).text)",
      "Content-Type": "multipart/form-data; boundary=b",
    ]
    func ask(_ method: String, _ path: String) throws -> RawClient.Response {
      try RawClient(port: server.address.port).request(method, path, headers: headers)
    }
    for (method, path) in [
      ("GET", "/api/user-profile"), ("POST", "/api/analyze"), ("POST", "/api/shares"), ("GET", "/api/health"),
    ] {
      let answer = try ask(method, path)
      #expect(answer.status == 503 && answer.headers["retry-after"] == "5", "\(path): \(answer)")
      #expect(answer.json["code"] as? String == "SERVER_ERROR")
    }
    let readiness = try ask("GET", "/readyz")
    #expect(readiness.status == 503 && readiness.json["database"] as? String == "away", "\(readiness.text)")
    await server.stop()
    await gateway.close()
    loop.shutdown()
  }

  /// What the database does; it comes back from both.
  enum Absence: CaseIterable { case refuses, freezes }

  @Test("is ready again when the database answers again, and not before", arguments: Absence.allCases)
  func comesBack(absence: Absence) async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop(name: "gateway")
      let direct = ConnectionPool(database.configuration, on: loop, size: 1)
      let folder = try await direct.query("SHOW unix_socket_directories").single().string(0)
      let port = try await direct.query("SHOW port").single().string(0)
      await direct.close()
      let proxy = try FaultProxy(to: .socket("\(folder)/.s.PGSQL.\(port)"))
      defer { proxy.stop() }
      let gateway = Gateway(
        GatewayConfiguration(
          database: ConnectionConfiguration(proxy.conninfo(database: database.name) + " sslmode=disable")),
        loop: loop, log: .discard, version: "1")
      let server = try gateway.serve(at: ListenAddress(host: "127.0.0.1", port: 0))
      func statuses() throws -> [Int] {
        try ["/readyz", "/api/health"].map {
          try RawClient(port: server.address.port).request("GET", $0).status
        }
      }
      for _ in 0..<2 {
        try await eventually("the gateway is ready") { try statuses() == [200, 200] }
        switch absence {
        case .refuses:
          proxy.refuse()
          proxy.cutAll()
        case .freezes: proxy.freeze()
        }
        // An answer of the last second is enough; then it is asked again.
        try await eventually("the gateway is not ready") { try statuses() == [503, 503] }
        #expect(try statuses() == [503, 503])
        switch absence {
        case .refuses: try proxy.admit()
        case .freezes: proxy.thaw()
        }
      }
      try await eventually("the gateway is ready again") { try statuses() == [200, 200] }
      await server.stop()
      await gateway.close()
      loop.shutdown()
    }
  }

  @Test("takes no call that was answered without the database for an answer of it")
  func remembered() async throws {
    let port = try ReservedPort()
    let loop = try EventLoop(name: "gateway")
    let presence = DatabasePresence(
      ConnectionConfiguration("host=127.0.0.1 port=\(port.port) user=nobody dbname=none sslmode=disable"),
      on: loop, .discard)
    #expect(try await presence.call { 7 } == 7)
    #expect(await !presence.answers())
    await #expect(throws: APIFailure.self) { try await presence.call { 7 } }
    await presence.close()
    loop.shutdown()
  }
}
