import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Images

@Suite("Images that were fetched")
struct RemoteImageCacheTests {
  private func server(_ headers: String...) throws -> ImageHost {
    try ImageHost { connection, request in
      try connection.respond(200, "image of \(request.target)", headers: headers)
    }
  }

  @Test("are kept until their time is over")
  func expiry() async throws {
    let server = try server()
    var setting = Setting()
    setting.settings = CacheSettings(maximumAge: .seconds(60))
    try await setting.with([server.host]) { (cache) async throws in
      for (seconds, requests) in [(0.0, 1), (59, 1), (1, 2), (59, 2), (2, 3)] {
        setting.clock.advance(seconds)
        _ = try await cache.image(at: server.url())
        #expect(server.received.count == requests)
      }
    }
  }

  @Test(
    "are kept as short as their host asks",
    arguments: [
      ("max-age=10", 9.0, 1), ("max-age=10", 10, 2), ("no-store", 0, 2), ("max-age=1000000", 86_400, 2),
    ])
  func hostsAge(control: String, seconds: Double, requests: Int) async throws {
    let server = try server("Cache-Control: \(control)")
    let setting = Setting()
    try await setting.with([server.host]) { (cache) async throws in
      _ = try await cache.image(at: server.url())
      setting.clock.advance(seconds)
      _ = try await cache.image(at: server.url())
    }
    #expect(server.received.count == requests)
  }

  @Test("are not given out where their host is not allowed any more")
  func disallowed() async throws {
    let (folder, server) = (try TemporaryFolder(), try server())
    var setting = Setting()
    setting.disk = try DiskCache.test(folder)
    try await setting.with([server.host]) { (cache) async throws in
      _ = try await cache.image(at: server.url())
    }
    try await setting.with(["other.example.org"]) { (cache) async throws in
      #expect(await cache.failure(server.url())?.code == .notAllowed)
    }
  }

  @Test("come from the disk after a new start, without being fetched")
  func restart() async throws {
    let (folder, server) = (try TemporaryFolder(), try server())
    let keys = try KeyRing(at: 0)
    for _ in 0..<3 {
      var setting = Setting()
      setting.disk = try DiskCache.test(folder, keys: keys)
      try await setting.with([server.host]) { (cache) async throws in
        #expect(try await cache.image(at: server.url("/a")) == "image of /a".bytes)
      }
    }
    #expect(server.received.count == 1)
  }

  @Test("that no host wants kept are not on the disk either")
  func noStore() async throws {
    let (folder, server) = (try TemporaryFolder(), try server("Cache-Control: no-store"))
    var setting = Setting()
    let disk = try DiskCache.test(folder)
    setting.disk = disk
    try await setting.with([server.host]) { (cache) async throws in
      _ = try await cache.image(at: server.url())
    }
    #expect(disk.byteCount == 0)
  }

  @Test("are given out also when they cannot be kept on the disk, which is told")
  func trouble() async throws {
    let (folder, server) = (try TemporaryFolder(), try server())
    let told = Mutex<[String]>([])
    var setting = Setting()
    setting.disk = try DiskCache.test(folder)
    setting.onTrouble = { words in told.withLock { $0.append(words) } }
    try folder.replaceByFile("cache")
    try await setting.with([server.host]) { (cache) async throws in
      #expect(try await cache.image(at: server.url("/private")) == "image of /private".bytes)
    }
    let words = told.withLock { $0 }
    #expect(words.count == 1)
    #expect(words.first?.hasPrefix("An image could not be kept on the disk: ") == true)
    #expect(words.first?.contains("private") == false && words.first?.contains("img.") == false)
  }

  @Test("are fetched beforehand for a page, a few at once; failures are told apart")
  func prefetch() async throws {
    // The first are answered when four are there.
    let meeting = Barrier(4)
    let open = Mutex((now: 0, most: 0))
    let server = try ImageHost { connection, request in
      open.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      meeting.wait()
      open.withLock { $0.now -= 1 }
      try connection.respond(request.target.hasPrefix("/missing") ? 404 : 200, request.target)
    }
    let told = Mutex<[Int: String]>([:])
    try await Setting().with([server.host]) { (cache) async throws in
      let urls = (0..<40).map { server.url($0 % 10 == 3 ? "/missing/\($0)" : "/\($0 % 20)") }
      await cache.prefetch(urls + ["https://elsewhere.org/"], atOnce: 4) { place, failure in
        told.withLock { $0[place] = failure?.code.rawValue ?? "ready" }
      }
      #expect(open.withLock { $0.most } == 4)
      let found = told.withLock { $0 }
      #expect(found.count == 41)
      for place in 0..<40 { #expect(found[place] == (place % 10 == 3 ? "url_bad_status" : "ready")) }
      #expect(found[40] == "url_not_allowed")
      let before = server.received.count
      for url in urls where !url.contains("missing") { _ = try await cache.image(at: url) }
      #expect(server.received.count == before)
      #expect(before == 18 + 4)
    }
  }

  @Test("are not fetched further when whoever prefetches is cancelled")
  func cancelledPrefetch() async throws {
    let server = try ImageHost { connection, _ in connection.waitForClose() }
    try await Setting().with([server.host]) { (cache) async throws in
      let task = Task {
        await cache.prefetch((0..<100).map { server.url("/\($0)") }, atOnce: 2) { _, _ in }
      }
      try await eventually { server.received.count == 2 }
      task.cancel()
      await task.value
      #expect(server.received.count == 2)
    }
  }
}
