import Synchronization
import TestSupport
import Testing

@testable import Control

@Suite("An image that many ask for")
struct CoalescingTests {
  /// A host that answers when it is let.
  private func holding(_ gate: Gate) throws -> ImageHost {
    try ImageHost { connection, request in
      gate.wait()
      try connection.respond(200, "image of \(request.target)")
    }
  }

  @Test("at one time is fetched once")
  func once() async throws {
    let gate = Gate()
    let server = try holding(gate)
    let setting = Setting()
    try await setting.with([server.host]) { (cache) async throws in
      try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for _ in 0..<20 { group.addTask { try await cache.image(at: server.url("/a")) } }
        try await eventually { await cache.waitingCount == 20 }
        gate.open()
        for try await image in group { #expect(image == "image of /a".bytes) }
      }
      #expect(try await cache.image(at: server.url("/a")) == "image of /a".bytes)
    }
    #expect(server.received.count == 1)
    #expect(setting.names.asked.count == 1)
  }

  @Test("is fetched once too when some ask just as it comes")
  func asItComes() async throws {
    let server = try ImageHost()
    let addresses = (0..<100).map { server.url("/\($0)") }
    try await Setting().with([server.host]) { (cache) async throws in
      for address in addresses {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<8 {
            group.addTask {
              // Each a little later than the one before, so that some are on their way when the image comes.
              for _ in 0..<(task * 40) { await Task.yield() }
              _ = try await cache.image(at: address)
            }
          }
          try await group.waitForAll()
        }
      }
    }
    #expect(server.received.count == addresses.count)
  }

  @Test("however they spell its address")
  func spellings() async throws {
    let server = try ImageHost()
    try await Setting().with([server.host]) { (cache) async throws in
      for host in ["img.example.org", "IMG.example.org", "img.example.org.", "img%2Eexample.org"] {
        _ = try await cache.image(at: "http://\(host):\(server.port)/a#\(host.count)")
      }
    }
    #expect(server.received.count == 1)
  }

  @Test("fails for all when it fails, and is fetched anew by the next")
  func failure() async throws {
    let gate = Gate()
    let count = Mutex(0)
    let server = try ImageHost { connection, request in
      gate.wait()
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      try connection.respond(isFirst ? 500 : 200, "image")
    }
    try await Setting().with([server.host]) { (cache) async throws in
      try await withThrowingTaskGroup(of: RemoteImageError?.self) { group in
        for _ in 0..<5 { group.addTask { await cache.failure(server.url("/a")) } }
        try await eventually { await cache.waitingCount == 5 }
        gate.open()
        for try await error in group { #expect(error?.code == .badStatus) }
      }
      gate.open()
      #expect(try await cache.image(at: server.url("/a")) == "image".bytes)
    }
    #expect(server.received.count == 2)
  }

  @Test("is fetched for the others when one is cancelled, who ends at once")
  func oneCancelled() async throws {
    let gate = Gate()
    let server = try holding(gate)
    try await Setting().with([server.host]) { (cache) async throws in
      let first = Task { await cache.failure(server.url("/a")) }
      try await eventually { await cache.waitingCount == 1 }
      let second = Task { try await cache.image(at: server.url("/a")) }
      try await eventually { await cache.waitingCount == 2 }
      first.cancel()
      #expect(await first.value?.code == .cancelled)
      gate.open()
      #expect(try await second.value == "image of /a".bytes)
    }
    #expect(server.received.count == 1)
  }

  @Test("is given up when all are cancelled, and fetched anew for who asks afterwards")
  func allCancelled() async throws {
    let left = Mutex(false)
    let server = try ImageHost { connection, request in
      guard request.target == "/a", !left.withLock({ $0 }) else {
        return try connection.respond(200, "image")
      }
      connection.waitForClose()
      left.withLock { $0 = true }
    }
    try await Setting().with([server.host]) { (cache) async throws in
      let tasks = (0..<3).map { _ in Task { await cache.failure(server.url("/a")) } }
      try await eventually { await cache.waitingCount == 3 && !server.received.isEmpty }
      for task in tasks { task.cancel() }
      for task in tasks { #expect(await task.value?.code == .cancelled) }
      try await eventually { left.withLock { $0 } }
      #expect(try await cache.image(at: server.url("/a")) == "image".bytes)
    }
  }

  @Test("is not asked for by who was cancelled before")
  func cancelledBefore() async throws {
    let server = try ImageHost()
    try await Setting().with([server.host]) { (cache) async throws in
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return await cache.failure(server.url("/a"))
      }
      task.cancel()
      #expect(await task.value?.code == .cancelled)
    }
    #expect(server.connectionCount == 0)
  }

  @Test("is told as closed when the cache is")
  func closed() async throws {
    let server = try ImageHost { connection, _ in connection.waitForClose() }
    try await Setting().with([server.host]) { (cache) async throws in
      let task = Task { await cache.failure(server.url("/a")) }
      try await eventually { await cache.waitingCount == 1 }
      await cache.close()
      #expect(await task.value?.code == .closed)
      #expect(await cache.failure(server.url("/a"))?.code == .closed)
    }
  }
}
