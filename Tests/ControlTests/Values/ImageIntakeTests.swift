import EventLoop
import HTTPTransfer
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Queue
@testable import Support

@Suite("Images are read and cleaned a chunk at a time")
struct ImageIntakeTests {
  private func item(_ name: String, _ source: SubmitItem.Source) -> SubmitItem {
    SubmitItem(
      name: name, source: source, user: "u1", kind: .throat, priority: .normal, runAt: nil, expiresAt: nil,
      key: name)
  }

  private func items(_ count: Int) -> [SubmitItem] {
    (0..<count).map { item("p\($0)", .bytes(TinyPicture.png(grey: UInt8($0)))) }
  }

  @Test("in their order, as many as a chunk may hold", arguments: [1, 2, 4, 9])
  func count(width: Int) async {
    let intake = ImageIntake(limits: ImageLimits(), width: width, chunkCount: 7)
    let chunk = await intake.chunk(items(20)[...]) { false }
    #expect(chunk.map(\.item.name) == (0..<7).map { "p\($0)" })
    let rest = await intake.chunk(items(20)[17...]) { false }
    #expect(rest.map(\.item.name) == ["p17", "p18", "p19"])
  }

  @Test("no more are begun once the chunk has its bytes", arguments: [1, 3])
  func bytes(width: Int) async {
    let intake = ImageIntake(limits: ImageLimits(), width: width, chunkBytes: 1)
    let chunk = await intake.chunk(items(20)[...]) { false }
    #expect((1...width).contains(chunk.count))
    #expect(chunk.map(\.item.name) == chunk.indices.map { "p\($0)" })
  }

  @Test("none are begun once the command is to end")
  func stopped() async {
    let chunk = await ImageIntake(limits: ImageLimits()).chunk(items(3)[...]) { true }
    #expect(chunk.isEmpty)
  }

  @Test("each that cannot be used has its reason, and none stops the others")
  func refusals() async throws {
    let files = try TemporaryFolder([
      "good.png": TinyPicture.png(), "large.png": [UInt8](repeating: 1, count: 3000),
    ])
    let refusal = Refusal(code: "manifest_row", sentence: "No.", advice: nil)
    let all = [
      item("folder", .file(files.path)), item("missing", .file(files.path("missing"))),
      item("row", .none(refusal)),
      item("text", .bytes(Array("text".utf8))), item("large", .file(files.path("large.png"))),
      item("good", .file(files.path("good.png"))),
    ]
    let chunk = await ImageIntake(limits: ImageLimits(maxBytes: 2000)).chunk(all[...]) { false }
    let codes = chunk.map { prepared in
      if case .failure(let refused) = prepared.image { refused.refusal.code } else { "taken" }
    }
    #expect(
      codes == ["unreadable", "unreadable", "manifest_row", "unsupported_format", "file_too_large", "taken"])
  }

  @Test("one by URL that is being fetched when the command is cancelled is not refused, only not reached")
  func cancelled() async throws {
    let asked = Gate()
    let server = try RawServer { connection in
      asked.open()
      connection.waitForClose()
    }
    defer { server.stop() }
    let loop = try EventLoop(name: "intake")
    var network = NetworkDependencies(
      resolver: NameResolver { _ in [IPAddress("127.0.0.1")].compactMap { $0 } }, now: { 0 })
    network.exempt = Set([IPAddress("127.0.0.1")].compactMap { $0 })
    network.allowsPlainHTTP = true
    let remote = RemoteImageCache(
      loop: loop, hosts: [try AllowedHost("img.example.org:\(server.port)")], network: network)
    let item = item("URL 1", .url("http://img.example.org:\(server.port)/a.png"))
    let intake = ImageIntake(limits: ImageLimits(), remote: remote)
    let reading = Task { await intake.chunk([item][...]) { false } }
    _ = await HelperThread.value { asked.wait() }
    reading.cancel()
    let chunk = await reading.value
    await remote.close()
    loop.shutdown()
    guard case .failure(let refused) = chunk.first?.image else {
      Issue.record("it was taken")
      return
    }
    #expect(refused.wasCancelled)
  }

  @Test("what is taken is a clean JPEG with its own hash")
  func clean() async throws {
    let chunk = await ImageIntake(limits: ImageLimits(maxDimension: 8)).chunk(items(1)[...]) { false }
    let image = try #require(try chunk.first?.image.get())
    guard case .bytes(let bytes, let sha256, let width, let height, _, nil) = image.image else {
      Issue.record("\(image)")
      return
    }
    #expect(bytes.starts(with: [0xFF, 0xD8]) && image.byteCount == bytes.count)
    #expect(sha256 == SHA256.digest(of: bytes))
    #expect(width == 8 && height == 8)
  }
}
