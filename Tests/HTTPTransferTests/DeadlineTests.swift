import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@Suite("Deadline and cancellation")
struct DeadlineTests {
  /// How a request ends that got as far as the server leads before its deadline: repeated with more time until the
  /// server has said so, as a busy machine needs.
  private func failure(
    of request: Request, by client: HTTPClient, after arrival: Arrival
  ) async throws -> TransferError {
    var deadline = Duration.seconds(2)
    while true {
      let error = try #require(await client.failure(request, deadline: deadline))
      if arrival.hasCome || deadline > .seconds(30) { return error }
      deadline *= 4
    }
  }

  @Test("the deadline ends a request that nobody answers, as waiting")
  func waiting() async throws {
    let arrival = Arrival()
    try await withServer { connection in
      guard try connection.readRequest() != nil else { return }
      arrival.come()
      connection.waitForClose()
    } _: { client, server in
      let request = Request(.post, server.url, body: .bytes([1, 2], contentType: "a/b"))
      let error = try await failure(of: request, by: client, after: arrival)
      #expect(error.code == .timedOut)
      #expect(error.phase == .waiting)
      #expect(!error.certainlyNotSent)
    }
  }

  @Test("the deadline ends an upload that nobody reads, as sending")
  func sending() async throws {
    let (arrival, gate) = (Arrival(), Gate())
    try await withServer { connection in
      guard try connection.readHead() != nil else { return }
      arrival.come()
      gate.wait()
    } _: { client, server in
      let image = [UInt8](repeating: 7, count: 32 << 20)
      let request = Request(.post, server.url, body: .bytes(image, contentType: "image/jpeg"))
      let error = try await failure(of: request, by: client, after: arrival)
      for _ in 0..<server.connectionCount { gate.open() }
      #expect(error.code == .timedOut)
      #expect(error.phase == .sending)
      #expect(!error.certainlyNotSent)
    }
  }

  @Test("the deadline ends an answer that drips, as receiving")
  func receiving() async throws {
    let (arrival, gate) = (Arrival(), Gate())
    try await withServer { connection in
      guard try connection.readRequest() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
      arrival.come()
      gate.wait()
    } _: { client, server in
      let error = try await failure(of: Request(.get, server.url), by: client, after: arrival)
      for _ in 0..<server.connectionCount { gate.open() }
      #expect(error.code == .timedOut)
      #expect(error.phase == .receiving)
      #expect(error.answer?.status == 200)
    }
  }

  @Test("a server that accepts and never agrees on TLS is a connection not made, whichever limit ends it")
  func connecting() async throws {
    for (connect, deadline) in [(Duration.milliseconds(300), patience), (patience, .milliseconds(300))] {
      try await withServer { connection in
        connection.waitForClose()
      } configure: {
        $0.connectTimeout = connect
      } _: { client, server in
        let request = Request(.get, "https://127.0.0.1:\(server.port)/")
        let error = try #require(await client.failure(request, deadline: deadline))
        #expect(error.code == .timedOut)
        #expect(error.phase == .connecting)
        #expect(error.certainlyNotSent)
      }
    }
  }

  @Test("a deadline that is over sends nothing")
  func over() async throws {
    try await withServer {
      try $0.respond(200)
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, server.url), deadline: .zero))
      #expect(error.code == .timedOut)
      #expect(error.certainlyNotSent)
      #expect(server.connectionCount == 0)
    }
  }

  @Test("cancelling takes the transfer off its connection at once")
  func cancelling() async throws {
    let arrived = AsyncStream<Void>.makeStream()
    let closed = AsyncStream<Void>.makeStream()
    try await withServer { connection in
      _ = try connection.readRequest()
      arrived.continuation.yield()
      connection.waitForClose()
      closed.continuation.yield()
    } _: { client, server in
      let url = server.url
      let task = Task {
        await client.failure(Request(.post, url, body: .bytes([1], contentType: "a/b")), deadline: patience)
      }
      for await _ in arrived.stream { break }
      task.cancel()
      let error = try #require(await task.value)
      #expect(error.code == .cancelled)
      #expect(!error.certainlyNotSent)
      for await _ in closed.stream { break }  // the server has seen the connection end
    }
  }

  @Test("a task that was cancelled before sends nothing")
  func cancelledBefore() async throws {
    try await withServer {
      try $0.respond(200)
    } _: { client, server in
      let url = server.url
      let gate = AsyncStream<Void>.makeStream()
      let task = Task {
        for await _ in gate.stream { break }
        return await client.failure(Request(.get, url))
      }
      task.cancel()
      let error = try #require(await task.value)
      #expect(error.code == .cancelled)
      #expect(error.certainlyNotSent)
      #expect(server.connectionCount == 0)
    }
  }

  @Test("many cancellations at any moment leave a client that works")
  func storm() async throws {
    try await withServer { connection in
      while try connection.readRequest() != nil { try connection.respond(200, "ok") }
    } configure: {
      $0.maximumConnectionsPerHost = 8
    } _: { client, server in
      let url = server.url
      let image = [UInt8](repeating: 1, count: 100_000)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask {
            let task = Task {
              await client.failure(
                Request(.post, url, body: .bytes(image, contentType: "a/b")), deadline: patience)
            }
            for _ in 0..<number % 17 { await Task.yield() }
            task.cancel()
            let error = await task.value
            #expect(error == nil || error?.code == .cancelled)
          }
        }
      }
      let response = try await client.send(Request(.get, url), deadline: patience)
      #expect(response.status == 200)
    }
  }

  @Test("cancellations while names are being looked up leave a client that works")
  func lookups() async throws {
    try await withServer { connection in
      while try connection.readRequest() != nil { try connection.respond(200, "ok") }
    } _: { client, server in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<40 {
          group.addTask {
            let task = Task {
              await client.failure(Request(.get, "https://nowhere-\(number).invalid/"), deadline: .seconds(2))
            }
            for _ in 0..<number * 3 { await Task.yield() }
            if number % 4 != 0 { task.cancel() }
            let error = await task.value
            #expect([.cancelled, .nameNotResolved, .timedOut].contains(error?.code))
            #expect(error?.certainlyNotSent == true)
          }
        }
      }
      let response = try await client.send(Request(.get, server.url), deadline: patience)
      #expect(response.status == 200)
    }
  }
}

/// Whether a request has come to where the server leads it.
private final class Arrival: Sendable {
  private let state = Mutex(false)

  var hasCome: Bool { state.withLock { $0 } }

  func come() { state.withLock { $0 = true } }
}
