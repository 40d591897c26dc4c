import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@Suite("A request that is fixed to addresses")
struct PinTests {
  private func url(_ server: RawServer, _ path: String = "/") -> String {
    "http://img.example.org:\(server.port)\(path)"
  }

  private func answering(
    _ body: (HTTPClient, RawServer) async throws -> Void
  ) async throws {
    try await withServer { connection in
      while let request = try connection.readRequest() { try connection.respond(200, request.target) }
    } configure: {
      $0.plainHTTP = .anywhere
    } _: { client, server in
      try await body(client, server)
    }
  }

  @Test("goes there, and the name is not looked up")
  func there() async throws {
    try await answering { (client, server) async throws in
      let request = Request(.get, url(server, "/a"), pin: AddressPin(["127.0.0.1"]))
      #expect(try await client.send(request, deadline: patience).body == Array("/a".utf8))
    }
  }

  @Test("goes to the second address when nobody listens at the first")
  func second() async throws {
    try await answering { (client, server) async throws in
      let request = Request(.get, url(server), pin: AddressPin(["127.0.0.77", "127.0.0.1"]))
      #expect(try await client.send(request, deadline: patience).status == 200)
    }
  }

  @Test("goes where the last pin leads, not where an earlier one did")
  func moved() async throws {
    try await answering { (client, server) async throws in
      let there = Request(.get, url(server), pin: AddressPin(["127.0.0.1"], permits: { _ in true }))
      #expect(try await client.send(there, deadline: patience).connectionReused == false)
      #expect(try await client.send(there, deadline: patience).connectionReused)
      let nowhere = Request(.get, url(server), pin: AddressPin(["127.0.0.77"]))
      let error = try #require(await client.failure(nowhere))
      #expect([.addressRefused, .connectionRefused].contains(error.code))
      #expect(error.certainlyNotSent)
    }
  }

  @Test("is not sent over a connection whose address is not permitted, kept alive or new")
  func notPermitted() async throws {
    let targets = Mutex<[String]>([])
    try await withServer { connection in
      while let request = try connection.readRequest() {
        targets.withLock { $0.append(request.target) }
        try connection.respond(200)
      }
    } configure: {
      $0.plainHTTP = .anywhere
    } _: { client, server in
      let asked = Mutex<[String]>([])
      for _ in 0..<2 {
        let pin = AddressPin(["127.0.0.1"]) { peer in
          asked.withLock { $0.append(peer) }
          return false
        }
        let error = try #require(await client.failure(Request(.get, url(server, "/no"), pin: pin)))
        #expect(error.code == .addressRefused)
        #expect(error.certainlyNotSent)
        #expect(!error.message.contains("/no"))
        _ = try await client.send(
          Request(.get, url(server, "/yes"), pin: AddressPin(["127.0.0.1"])), deadline: patience)
      }
      #expect(Set(asked.withLock { $0 }) == ["127.0.0.1"])
    }
    #expect(Set(targets.withLock { $0 }) == ["/yes"])
  }

  @Test("does not bind the next request on the same handle")
  func next() async throws {
    try await answering { (client, server) async throws in
      _ = try await client.send(
        Request(.get, url(server), pin: AddressPin(["127.0.0.1"])), deadline: patience)
      let other = try await client.send(Request(.get, server.url + "/plain"), deadline: patience)
      #expect(other.body == Array("/plain".utf8))
    }
  }

  @Test(
    "is refused without an address, or with what is none",
    arguments: [[], ["localhost"], [""], ["127.0.0.1,127.0.0.2"], ["127.0.0.1", "a b"], ["[::1]"], ["*"]])
  func malformed(addresses: [String]) async throws {
    try await answering { (client, server) async throws in
      let error = try #require(await client.failure(Request(.get, url(server), pin: AddressPin(addresses))))
      #expect(error.code == .invalidRequest)
    }
  }

  @Test("is refused where a proxy would choose the address")
  func proxy() async throws {
    try await withServer {
      $0.waitForClose()
    } configure: {
      $0.plainHTTP = .anywhere
      $0.proxy = .url("http://127.0.0.1:1")
    } _: { client, server in
      let error = try #require(
        await client.failure(Request(.get, url(server), pin: AddressPin(["127.0.0.1"]))))
      #expect(error.code == .refusedByPolicy)
    }
  }

  @Test("is refused when it is not written as it will be read")
  func spelling() async throws {
    try await answering { (client, server) async throws in
      for spelling in ["http://IMG.example.org:\(server.port)/", "http://img.example.org.:\(server.port)/"] {
        let error = try #require(
          await client.failure(Request(.get, spelling, pin: AddressPin(["127.0.0.1"]))))
        #expect(error.code == .invalidRequest)
      }
    }
  }
}
