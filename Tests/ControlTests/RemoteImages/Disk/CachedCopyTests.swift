import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Support

@Suite("The copy of one image on the disk")
struct CachedCopyTests {
  private let folder: TemporaryFolder
  private let keys: KeyRing
  private let now = ManualClock().now

  init() throws {
    folder = try TemporaryFolder()
    keys = try KeyRing(at: 0)
  }

  private func search(_ address: String, _ keys: KeyRing? = nil) throws -> CachedCopy.Search {
    try CachedCopy.search(for: address, in: folder.path("cache"), keys: keys ?? self.keys)
  }

  private func isAbsent(_ search: CachedCopy.Search) -> Bool {
    if case .absent = search { true } else { false }
  }

  /// Fetches images, as a program does.
  private func fetch(_ server: ImageHost, _ paths: [String]) async throws {
    var setting = Setting()
    setting.disk = try DiskCache.test(folder, keys: keys)
    try await setting.with([server.host]) { (cache) async throws in
      for path in paths { _ = try await cache.image(at: server.url(path)) }
    }
  }

  @Test("is found by its address in any spelling, removed, and no other is; a search changes nothing")
  func removed() async throws {
    let server = try ImageHost()
    try await fetch(server, ["/1?SECRET", "/2"])
    let before = try folder.images()
    let spelled = server.url("/1?SECRET").replacingOccurrences(
      of: "img.example.org", with: "IMG.Example.ORG.")
    guard case .found(let copy) = try search(spelled) else {
      Issue.record("it is not found")
      return
    }
    #expect(try folder.images() == before)
    try copy.remove()
    #expect(try isAbsent(search(server.url("/1?SECRET"))))
    try copy.remove()
    #expect(try folder.images().count == 1)
    try await fetch(server, ["/1?SECRET", "/2"])
    #expect(server.received.count == 3)
  }

  @Test("is absent where it was never fetched, where there is no folder, and for what is no address")
  func absent() async throws {
    let server = try ImageHost()
    #expect(try isAbsent(search(server.url("/1"))))
    #expect(!FileManager.default.fileExists(atPath: folder.path("cache")))
    try await fetch(server, ["/1"])
    #expect(try isAbsent(search(server.url("/2"))))
    #expect(try isAbsent(search("nonsense SECRET")))
  }

  @Test("cannot be told from others without the key, and all stay; under a newer key beside it, it can")
  func keys() async throws {
    let server = try ImageHost()
    try await fetch(server, ["/1"])
    let before = try folder.images()
    guard case .unreadable = try search(server.url("/1"), KeyRing(at: 0)) else {
      Issue.record("another key tells")
      return
    }
    #expect(try folder.images() == before)
    var newer = keys
    try newer.addKey(at: 1)
    guard case .found = try search(server.url("/1"), newer) else {
      Issue.record("a newer key does not tell")
      return
    }
    // Of an empty folder nothing needs to be told.
    for name in before { try FileManager.default.removeItem(atPath: folder.path("cache/\(name)")) }
    #expect(try isAbsent(search(server.url("/1"), KeyRing(at: 0))))
  }

  @Test("is not looked for in a folder that others may look into")
  func openFolder() async throws {
    let server = try ImageHost()
    try await fetch(server, ["/1"])
    chmod(folder.path("cache"), 0o750)
    let error = #expect(throws: SystemError.self) { try search(server.url("/1")) }
    #expect(error?.code == .notPrivate && error?.description.contains("img.") == false)
  }
}
