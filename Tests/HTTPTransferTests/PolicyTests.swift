import HTTPTransfer
import TestSupport
import Testing

@Suite("The policy")
struct PolicyTests {
  @Test(
    "refuses plain HTTP to other machines, other schemes and passwords in addresses",
    arguments: [
      "http://192.0.2.1/", "http://example.com/", "http://127.0.0.1.example.com/", "http://127.example.com",
      "http://1270.0.0.1/", "http://localhost.example.com/", "http://[2001:db8::1]/", "http://0.0.0.0/",
      "ftp://127.0.0.1/", "file:///etc/hostname", "gopher://127.0.0.1/", "https://user:password@127.0.0.1/",
      "https://user@127.0.0.1/", "weird://127.0.0.1/",
    ])
  func refused(url: String) async throws {
    try await withClient { client in
      let error = try #require(await client.failure(Request(.get, url)))
      #expect(error.code == .refusedByPolicy)
      #expect(error.certainlyNotSent)
      #expect(!error.description.contains("password@"))
    }
    let told = #expect(throws: TransferError.self) { try HTTPTransfer.Configuration().check(url) }
    #expect(told?.code == .refusedByPolicy)
  }

  @Test(
    "lets plain HTTP reach this machine by each of its names",
    arguments: [
      "http://127.0.0.1:1/", "http://127.8.9.10:1/", "http://localhost:1/", "http://LOCALHOST:1/",
      "http://0x7f000001:1/",
    ])
  func loopback(url: String) async throws {
    try await withClient { client in
      let error = try #require(await client.failure(Request(.get, url)))
      #expect(error.code == .connectionRefused)
      #expect(error.phase == .connecting)
      #expect(error.certainlyNotSent)
    }
  }

  @Test(
    "says that an address cannot be read", arguments: ["", "host", "http://", "https://", "https://a b/"])
  func malformed(url: String) async throws {
    try await withClient { client in
      let error = try #require(await client.failure(Request(.get, url)))
      #expect(error.certainlyNotSent)
      #expect(error.code == .invalidRequest)
    }
    let told = #expect(throws: TransferError.self) { try HTTPTransfer.Configuration().check(url) }
    #expect(told?.code == .invalidRequest)
  }

  @Test("can be asked beforehand", arguments: ["https://example.com", "http://localhost:8080/base"])
  func checked(address: String) throws {
    try HTTPTransfer.Configuration().check(address)
  }

  @Test("gives plain HTTP to other machines only when told so")
  func told() async throws {
    try await withClient {
      $0.plainHTTP = .anywhere
    } _: { client in
      // A name that no server may give an address to (RFC 6761).
      let error = try #require(await client.failure(Request(.get, "http://nowhere.invalid/")))
      #expect(error.code == .nameNotResolved)
      #expect(error.certainlyNotSent)
    }
  }

  @Test(
    "returns a redirect as an answer and goes nowhere",
    arguments: [301, 302, 303, 307, 308])
  func redirects(status: Int) async throws {
    let target = try RawServer { try $0.respond(200) }
    defer { target.stop() }
    let location = target.url
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.respond(status, headers: ["Location: \(location)/elsewhere"])
    } _: { client, server in
      let response = try await client.send(
        Request(.get, server.url, headers: ["Authorization": "Bearer x"]), deadline: patience)
      #expect(response.status == status)
      #expect(response.headers["location"] == location + "/elsewhere")
    }
    #expect(target.connectionCount == 0)
  }

  @Test("uses a proxy only when told so")
  func proxy() async throws {
    let proxy = try RawServer { connection in
      let request = try connection.readRequest()
      try connection.respond(200, request?.target ?? "")
    }
    defer { proxy.stop() }
    let address = proxy.url
    try await withClient {
      $0.plainHTTP = .anywhere
      $0.proxy = .url(address)
    } _: { client in
      let response = try await client.send(Request(.get, "http://nowhere.invalid/x"), deadline: patience)
      #expect(String(decoding: response.body, as: UTF8.self) == "http://nowhere.invalid/x")
    }
  }
}
