import Dispatch
import EventLoop
import Glibc
import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@Suite("Connections")
struct ConnectionTests {
  @Test("are kept alive and shared: many uploads at once need only a few")
  func shared() async throws {
    try await withServer { connection in
      while let request = try connection.readRequest() {
        let sum = request.body.reduce(into: 0) { $0 = ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF }
        try connection.respond(200, "\(request.body.count) \(sum)")
      }
    } configure: {
      $0.maximumConnectionsPerHost = 4
    } _: { client, server in
      let url = server.url
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            let image = (0..<20_000 + number).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
            let sum = image.reduce(into: 0) { $0 = ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF }
            let response = try await client.send(
              Request(.post, url, body: .bytes(image, contentType: "image/jpeg")), deadline: patience)
            return String(decoding: response.body, as: UTF8.self) == "\(image.count) \(sum)"
          }
        }
        for try await isIntact in group { #expect(isIntact) }
      }
      #expect(server.connectionCount <= 4)
    }
  }

  /// Answers the first request and closes the connection when the second has come, the stale connection
  /// of every long-lived client.
  private static func staleServer(_ count: Count, _ connection: RawConnection) throws {
    while try connection.readRequest() != nil {
      let number = count.value.withLock { count in
        count += 1
        return count
      }
      if number == 2 { return }
      try connection.respond(200, "\(number)")
    }
  }

  private final class Count: Sendable {
    let value = Mutex(0)
  }

  @Test("that die under a request that may be counted twice fail it instead of sending it again")
  func staleForPost() async throws {
    let count = Count()
    try await withServer {
      try Self.staleServer(count, $0)
    } _: { client, server in
      let request = Request(.post, server.url, body: .bytes([1], contentType: "a/b"))
      _ = try await client.send(request, deadline: patience)
      let error = try #require(await client.failure(request))
      #expect(error.code == .connectionReset)
      #expect(!error.certainlyNotSent)
      #expect(count.value.withLock { $0 } == 2)
      _ = try await client.send(request, deadline: patience)
    }
  }

  @Test("that die under a harmless request are replaced without a word")
  func staleForGet() async throws {
    let count = Count()
    try await withServer {
      try Self.staleServer(count, $0)
    } _: { client, server in
      _ = try await client.send(Request(.get, server.url), deadline: patience)
      let response = try await client.send(
        Request(.post, server.url, body: .bytes([1], contentType: "a/b"), mayBeRepeated: true),
        deadline: patience)
      #expect(response.body == Array("3".utf8))
      #expect(server.connectionCount == 2)
    }
  }

  @Test(
    "on which a server sends what nobody asked for are not used again",
    arguments: ["with the answer", "after the answer", "when the client has seen it at rest"])
  func unasked(moment: String) async throws {
    let stray = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"
    let sent = AsyncStream<Void>.makeStream()
    try await withServer { connection in
      while let request = try connection.readRequest() {
        let answer =
          "HTTP/1.1 200 OK\r\nContent-Length: \(request.target.utf8.count)\r\n\r\n\(request.target)"
        if moment == "with the answer" {
          try connection.write(answer + stray)
        } else {
          try connection.write(answer)
          try connection.write(stray)
        }
        sent.continuation.yield()
        if moment == "when the client has seen it at rest" {
          connection.waitForClose()
          sent.continuation.yield()
          return
        }
      }
    } _: { client, server in
      var signals = sent.stream.makeAsyncIterator()
      for number in 1...3 {
        let response = try await client.send(
          Request(.post, "\(server.url)/\(number)", body: .bytes([1], contentType: "a/b")), deadline: patience
        )
        #expect(String(decoding: response.body, as: UTF8.self) == "/\(number)")
        await signals.next()
        if moment == "when the client has seen it at rest" { await signals.next() }
      }
      #expect(server.connectionCount == 3)
    }
  }

  @Test("are ended where their answer cannot be the request's, and the next request takes another")
  func ended() async throws {
    try await withServer { connection in
      while try connection.readRequest() != nil { try connection.respond(200) }
    } _: { client, server in
      let request = Request(.post, server.url, body: .bytes([1], contentType: "a/b"))
      let first = try await client.send(request, deadline: patience)
      await client.endConnection(of: first)
      for isReused in [false, true] {
        #expect(try await client.send(request, deadline: patience).connectionReused == isReused)
      }
      #expect(server.connectionCount == 2)
    }
  }

  @Test("that answer with success to a request that is still on its way bring no answer")
  func onItsWay() async throws {
    // What nobody asked for comes when the next request is being sent, all of which libcurl has taken by then.
    let isAnswered = DispatchSemaphore(value: 0)
    let server = try RawServer(receiveBuffer: 4096) { connection in
      guard try connection.readRequest() != nil else { return }
      try connection.respond(200, "first")
      connection.waitForBytes()
      try connection.respond(200, "stray")
      // What is read of the request meanwhile is no longer on its way.
      isAnswered.wait()
      connection.waitForClose()
    }
    defer {
      isAnswered.signal()
      server.stop()
    }
    try await withClient { client in
      let body = Body.bytes([UInt8](repeating: 7, count: 60_000), contentType: "a/b")
      for _ in 0..<2 {
        let first = try await client.send(
          Request(.post, server.url, body: .bytes([1], contentType: "a/b")), deadline: patience)
        #expect(String(decoding: first.body, as: UTF8.self) == "first")
        let failure = await client.failure(Request(.post, server.url, body: body))
        isAnswered.signal()
        let error = try #require(failure)
        #expect(error.code == .protocolViolation && !error.certainlyNotSent)
        #expect(error.message.contains("answered with success before it had the whole request"), "\(error)")
      }
      // Each time the connection was closed.
      #expect(server.connectionCount == 2)
    }
  }

  @Test("that answer with success before they have the request bring no answer; a refusal may come early")
  func early() async throws {
    try await withServer { connection in
      guard let head = try connection.readHead() else { return }
      try connection.respond(head.target == "/refused" ? 413 : 200, "early")
      connection.waitForClose()
    } _: { client, server in
      // More than the system keeps for a server that does not read.
      let body = Body.bytes([UInt8](repeating: 7, count: 32 << 20), contentType: "a/b")
      let error = try #require(await client.failure(Request(.post, server.url, body: body)))
      #expect(error.code == .protocolViolation)
      #expect(error.answer?.status == 200)
      let refused = await client.outcome(Request(.post, server.url + "/refused", body: body))
      switch refused {
      case .success(let response): #expect(response.status == 413)
      case .failure(let error): #expect(error.answer?.status == 413)
      }
    }
  }

  /// This machine's own name, where it leads to the loopback; `localhost` is not looked up.
  private static let ownName: String? = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    var hints = addrinfo()
    hints.ai_family = AF_INET
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &found) == 0, let found else { return nil }
    defer { freeaddrinfo(found) }
    let first = found.pointee.ai_addr.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
      UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 24
    }
    let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return first == 127 ? text : nil
  }()

  @Test(
    "to a host whose name is looked up hear the answer, and the next one",
    .enabled(if: ownName != nil, "this machine's name does not lead to the loopback"))
  func byName() async throws {
    let name = try #require(Self.ownName)
    try await withServer { connection in
      while try connection.readRequest() != nil {
        // The answer takes its time, so that the client has nothing else to do.
        _ = poll(nil, 0, 100)
        try connection.respond(200)
      }
    } configure: {
      // What is heard only when this is over is not heard at all.
      $0.connectTimeout = patience
      $0.plainHTTP = .anywhere
    } _: { client, server in
      let url = server.url.replacing("127.0.0.1", with: name)
      #expect(url != server.url)
      for _ in 0..<3 {
        let response = try await client.send(
          Request(.post, url, body: .bytes([1], contentType: "a/b")), deadline: patience)
        #expect(response.status == 200)
      }
    }
  }

  @Test("that the server closes while they rest are replaced, whatever number the next one has")
  func closedAtRest() async throws {
    try await withServer { connection in
      // Each takes one request only, and is closed while others are at work.
      guard try connection.readRequest() != nil else { return }
      try connection.respond(200, "last", headers: ["Keep-Alive: timeout=5"])
    } _: { client, server in
      let url = server.url
      for _ in 0..<20 {
        try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<3 {
            group.addTask { try await client.send(Request(.get, url), deadline: patience).status }
          }
          for try await status in group { #expect(status == 200) }
        }
      }
      #expect(server.connectionCount == 60)
    }
  }

  @Test("are all closed with the client, and what is in flight ends")
  func closing() async throws {
    let arrived = AsyncStream<Void>.makeStream()
    try await withServer { connection in
      _ = try connection.readRequest()
      arrived.continuation.yield()
      connection.waitForClose()
    } _: { client, server in
      let url = server.url
      let task = Task { await client.failure(Request(.post, url, body: .bytes([1], contentType: "a/b"))) }
      for await _ in arrived.stream { break }
      await client.close()
      let error = try #require(await task.value)
      #expect(error.code == .closed)
      #expect(!error.certainlyNotSent)
      let later = try #require(await client.failure(Request(.get, url)))
      #expect(later.code == .closed)
      #expect(later.certainlyNotSent)
    }
  }

  @Test("are closed when a client is dropped without a word")
  func dropping() async throws {
    let closed = AsyncStream<Void>.makeStream()
    let server = try RawServer { connection in
      while try connection.readRequest() != nil { try connection.respond(200) }
      closed.continuation.yield()
    }
    defer { server.stop() }
    let loop = try EventLoop(name: "http-test")
    do {
      let client = HTTPClient(loop: loop)
      _ = try await client.send(Request(.get, server.url), deadline: patience)
    }
    for await _ in closed.stream { break }
    loop.shutdown()
  }
}
