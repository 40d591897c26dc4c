import Glibc
import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@testable import Control

@Suite("An image is fetched by its address")
struct FetchTests {
  @Test("from the host that is allowed, with nothing in the request that says who asks")
  func fetched() async throws {
    let server = try ImageHost()
    let setting = Setting()
    try await setting.with([server.host]) { (cache) async throws in
      #expect(try await cache.image(at: server.url("/a.jpg?s=1")) == "image of /a.jpg?s=1".bytes)
    }
    let request = try #require(server.received.first)
    #expect(setting.names.asked == ["img.example.org"])
    #expect(request.method == "GET")
    #expect(request.headers["host"] == server.host)
    #expect(request.headers["user-agent"] == "analysis-queue")
    #expect(Set(request.headers.keys) == ["host", "user-agent", "accept", "accept-encoding"])
  }

  @Test("never from a host that is not in the list, which is not even looked up")
  func notAllowed() async throws {
    let server = try ImageHost()
    let setting = Setting()
    try await setting.with(["img.example.org", "*.example.net:\(server.port)"]) { (cache) async throws in
      for host in [
        "img.example.org:\(server.port)", "example.net:\(server.port)", "other.org:\(server.port)",
      ] {
        #expect(await cache.failure("http://\(host)/a.jpg")?.code == .notAllowed)
      }
    }
    #expect(setting.names.asked.isEmpty)
    #expect(server.connectionCount == 0)
  }

  @Test("from the addresses of one look-up: the next, which leads elsewhere, is never made")
  func rebinding() async throws {
    let server = try ImageHost()
    var setting = Setting()
    // What is allowed here stands for a public address, and its neighbour for a private one.
    setting.names = Names(["127.0.0.1"], ["127.0.0.2"])
    try await setting.with([server.host]) { (cache) async throws in
      #expect(try await cache.image(at: server.url("/1")) == "image of /1".bytes)
      #expect(setting.names.asked.count == 1)
      // The second fetch looks up anew, and finds what is refused.
      #expect(await cache.failure(server.url("/2"))?.code == .addressRefused)
      #expect(setting.names.asked.count == 2)
    }
    #expect(server.received.count == 1)
  }

  @Test(
    "not from a host of which a single address is refused",
    arguments: [
      ["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "::1"],
      ["127.0.0.1", "::ffff:127.0.0.2"], ["8.8.8.8", "169.254.169.254"],
    ])
  func oneOfMany(addresses: [String]) async throws {
    let server = try ImageHost()
    var setting = Setting()
    setting.names = Names(addresses)
    try await setting.with([server.host]) { (cache) async throws in
      let error = await cache.failure(server.url())
      #expect(error?.code == .addressRefused)
      #expect(error?.message.hasPrefix("The host img.example.org leads to an address that is ") == true)
    }
    #expect(server.connectionCount == 0)
  }

  @Test("not without an address, and not when the name cannot be looked up")
  func noAddress() async throws {
    var setting = Setting()
    setting.names = Names([])
    try await setting.with(["img.example.org:1"]) { (cache) async throws in
      #expect(await cache.failure("http://img.example.org:1/")?.code == .unreachable)
    }
  }

  @Test("not from where a redirect leads", arguments: [301, 302, 303, 307, 308])
  func redirect(status: Int) async throws {
    let target = try ImageHost()
    let location = target.url()
    let server = try ImageHost { connection, _ in
      try connection.respond(status, headers: ["Location: \(location)"])
    }
    try await Setting().with([server.host, target.host]) { (cache) async throws in
      #expect(await cache.failure(server.url())?.code == .redirected)
    }
    #expect(target.connectionCount == 0)
  }

  @Test(
    "not where the host says there is none", arguments: [204, 206, 400, 401, 403, 404, 410, 429, 500, 503])
  func status(status: Int) async throws {
    let server = try ImageHost { connection, _ in
      try connection.write("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
    }
    try await Setting().with([server.host]) { (cache) async throws in
      let error = try #require(await cache.failure(server.url()))
      #expect(error.code == .badStatus)
      #expect(error.message == "The host img.example.org answers with status \(status) instead of an image.")
    }
  }

  @Test("up to the limit, and not a byte more", arguments: ["known length", "chunks", "until the end"])
  func size(shape: String) async throws {
    let server = try ImageHost { connection, request in
      let count = Int(request.target.dropFirst()) ?? 0
      let body = [UInt8](repeating: 7, count: count)
      switch shape {
      case "known length": try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
      case "chunks":
        try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try connection.write(String(count, radix: 16) + "\r\n")
      default: try connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
      }
      try connection.write(body)
      if shape == "chunks" { try connection.write("\r\n0\r\n\r\n") }
      if shape == "until the end" { connection.close() }
    }
    var setting = Setting()
    setting.limits = FetchLimits(bytes: 100_000)
    try await setting.with([server.host]) { (cache) async throws in
      #expect(try await cache.image(at: server.url("/100000")).count == 100_000)
      let error = try #require(await cache.failure(server.url("/100001")))
      #expect(error.code == .tooLarge)
      #expect(error.message == "The image on img.example.org has more than 100000 bytes.")
    }
  }

  @Test("not when it is packed, whatever it would unpack to", arguments: ["gzip", "br", "deflate"])
  func packed(encoding: String) async throws {
    let server = try ImageHost { connection, request in
      #expect(request.headers["accept-encoding"] == "identity")
      try connection.respond(200, "anything", headers: ["Content-Encoding: \(encoding)"])
    }
    try await Setting().with([server.host]) { (cache) async throws in
      #expect(await cache.failure(server.url())?.code == .badAnswer)
    }
  }

  @Test("without regard to what the host calls it")
  func contentType() async throws {
    let server = try ImageHost { connection, _ in
      try connection.respond(200, "<html>", headers: ["Content-Type: text/html", "Set-Cookie: a=b"])
    }
    try await Setting().with([server.host]) { (cache) async throws in
      #expect(try await cache.image(at: server.url("/1")) == "<html>".bytes)
      _ = try await cache.image(at: server.url("/2"))
    }
    #expect(server.received.allSatisfy { $0.headers["cookie"] == nil })
  }

  @Test("no longer than it may take", arguments: ["silent", "dripping"])
  func slow(kind: String) async throws {
    let server = try ImageHost { connection, _ in
      if kind == "dripping" {
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while true {  // until writing fails, since the client has gone
          try connection.write("x")
          usleep(10_000)  // its own pace, which is what is tried here
        }
      }
      connection.waitForClose()
    }
    var setting = Setting()
    setting.limits = FetchLimits(whole: .milliseconds(300))
    try await setting.with([server.host]) { (cache) async throws in
      let error = try #require(await cache.failure(server.url()))
      #expect(error.code == .timedOut)
      #expect(error.message == "The host img.example.org took too long.")
    }
  }

  @Test("no longer than a look-up may take")
  func slowLookUp() async throws {
    var setting = Setting()
    setting.limits = FetchLimits(connect: .milliseconds(50))
    var network = setting.network
    network.resolver = NameResolver { _ in
      try await Task.sleep(for: .seconds(3600))
      return []
    }
    try await setting.with(["img.example.org:1"], network) { (cache) async throws in
      #expect(await cache.failure("http://img.example.org:1/")?.code == .timedOut)
    }
  }

  @Test("a few at once, the others in their turn")
  func atOnce() async throws {
    let open = Mutex(0)
    let most = Mutex(0)
    let gate = Gate()
    let server = try ImageHost { connection, request in
      let now = open.withLock { open in
        open += 1
        return open
      }
      most.withLock { $0 = max($0, now) }
      gate.wait()
      open.withLock { $0 -= 1 }
      try connection.respond(200, request.target)
    }
    var setting = Setting()
    setting.limits = FetchLimits(atOnce: 3)
    try await setting.with([server.host]) { (cache) async throws in
      try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for number in 0..<12 {
          group.addTask { try await cache.image(at: server.url("/\(number)")) }
        }
        for done in 0..<12 {
          // One is let go only when as many as may are there: whoever is slow to come does not lower the most.
          try await eventually { open.withLock { $0 } >= min(3, 12 - done) }
          gate.open()
          _ = try await group.next()
        }
      }
    }
    #expect(most.withLock { $0 } == 3)
    #expect(server.received.count == 12)
  }

  @Test("and no error says more of the address than its host")
  func words() async throws {
    let closed = try ReservedPort()
    let server = try ImageHost { connection, request in
      if request.target.hasPrefix("/reset") { return connection.reset() }
      try connection.write("nonsense that is not HTTP at all\r\n\r\n")
      connection.close()
    }
    try await Setting().with([server.host, "img.example.org:\(closed.port)"]) { (cache) async throws in
      for url in [
        server.url("/reset/private?key=SECRET"), server.url("/garbled/private?key=SECRET"),
        "http://img.example.org:\(closed.port)/private?key=SECRET", "http://evil.org/private?key=SECRET",
        "http://img.example.org:\(closed.port)/private?key=SECRET and more",
      ] {
        let error = try #require(await cache.failure(url))
        #expect(!error.description.contains("private") && !error.description.contains("SECRET"))
      }
    }
  }
}
