import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Support

@Suite("Images on the disk")
struct DiskCacheTests {
  private let folder: TemporaryFolder
  private let keys: KeyRing
  private let now = 1_800_000_000.0

  init() throws {
    folder = try TemporaryFolder()
    keys = try KeyRing(at: 0)
  }

  private func open(
    limit: Int = 1_000_000, keys: KeyRing? = nil, at now: Double? = nil
  ) throws -> DiskCache {
    try DiskCache.test(folder, limit: limit, keys: keys ?? self.keys, now: now ?? self.now)
  }

  private func keep(_ url: String, _ count: Int = 1000, at seconds: Double = 0, in cache: DiskCache) throws {
    let file = CachedFile(end: now + 86_400, image: [UInt8](repeating: 1, count: count))
    try cache.keep(url, file, now: now + seconds)
  }

  @Test("are there again after a new start, with their time")
  func restart() throws {
    let file = CachedFile(end: now + 100.5, image: Array("an image".utf8))
    try open().keep("https://a/1", file, now: now)
    let cache = try open()
    #expect(cache.image("https://a/1", now: now) == file)
    #expect(cache.image("https://a/1", now: now + 100.4) == file)
    #expect(cache.image("https://a/2", now: now) == nil)
    #expect(cache.image("https://a/1", now: now + 100.5) == nil)
    #expect(try folder.images() == [])
  }

  @Test("are never more bytes than the bound, and the oldest go first, also after a new start")
  func bound() throws {
    let encrypted = 1000 + 8 + KeyRing.fileOverhead
    var cache = try open(limit: 4 * encrypted)
    for number in 1...5 { try keep("\(number)", at: Double(number), in: cache) }
    #expect(cache.byteCount == 4 * encrypted)
    #expect(cache.image("1", now: now) == nil)
    // Being read makes none younger.
    #expect(cache.image("2", now: now) != nil)
    cache = try open(limit: 4 * encrypted)
    #expect(cache.byteCount == 4 * encrypted)
    try keep("6", at: 6, in: cache)
    #expect((1...6).map { cache.image("\($0)", now: now) != nil } == [false, false, true, true, true, true])
    cache = try open(limit: 2 * encrypted)
    #expect(
      (1...6).map { cache.image("\($0)", now: now) != nil } == [false, false, false, false, true, true])
    #expect(try folder.images().count == 2)
  }

  @Test("that are larger than the bound are not kept")
  func tooLarge() throws {
    let cache = try open(limit: 2000)
    try keep("a", 500, in: cache)
    try keep("b", 2000, in: cache)
    #expect(cache.image("a", now: now) != nil)
    #expect(cache.image("b", now: now) == nil)
  }

  @Test("that are older than everything may be are gone at the next start")
  func old() throws {
    try keep("a", in: try open())
    try keep("b", at: 50_000, in: try open())
    #expect(try open(at: now + 86_401).byteCount > 0)
    #expect(try folder.images().count == 1)
    #expect(try open(at: now + 200_000).byteCount == 0)
    #expect(try folder.images().isEmpty)
  }

  @Test("tell nothing: no image, no address, not even by their names")
  func nothingReadable() throws {
    let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + Array("JFIF".utf8) + [UInt8](repeating: 0xAB, count: 5000)
    let url = "https://img.example.org:443/private/7.jpg?key=SECRET"
    try open().keep(url, CachedFile(end: now + 1, image: jpeg), now: now)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("cache"))
    #expect(names.count == 2)
    #expect(!names.contains(SHA256.hexadecimal(of: url)))
    for name in names {
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path("cache/\(name)"))))
      for secret in [[0xFF, 0xD8, 0xFF], Array("JFIF".utf8), [UInt8](repeating: 0xAB, count: 4)]
        + ["img.example", "private", "SECRET", "https"].map({ Array($0.utf8) })
      {
        #expect(bytes.firstRange(of: secret) == nil)
      }
    }
  }

  @Test("lie in a folder and in files that their owner alone may open")
  func modes() throws {
    try keep("a", in: try open())
    var status = stat()
    #expect(lstat(folder.path("cache"), &status) == 0 && status.st_mode & 0o7777 == 0o700)
    for name in try folder.images() + ["names"] {
      #expect(lstat(folder.path("cache/\(name)"), &status) == 0 && status.st_mode & 0o7777 == 0o600)
    }
  }

  @Test("are not put into a folder that others may look into, nor through a link")
  func openFolder() throws {
    try FileManager.default.createDirectory(atPath: folder.path("cache"), withIntermediateDirectories: false)
    chmod(folder.path("cache"), 0o750)
    let error = #expect(throws: SystemError.self) { try open() }
    #expect(error?.code == .notPrivate)
    #expect(error?.message.contains("chmod 700") == true)
    chmod(folder.path("cache"), 0o700)
    symlink(folder.path("cache"), folder.path("link"))
    #expect(throws: SystemError.self) {
      try DiskCache(folder.path("link"), limit: 1, keys: keys, maximumAge: 1, now: now)
    }
  }

  @Test("that were changed are dropped", arguments: ["first", "middle", "last", "cut", "empty", "longer"])
  func tampered(how: String) throws {
    let cache = try open()
    try keep("a", in: cache)
    let place = URL(fileURLWithPath: folder.path("cache/\(try folder.images()[0])"))
    var bytes = [UInt8](try Data(contentsOf: place))
    switch how {
    case "first": bytes[0] ^= 1
    case "middle": bytes[bytes.count / 2] ^= 0x80
    case "last": bytes[bytes.count - 1] ^= 1
    case "cut": bytes.removeLast()
    case "empty": bytes = []
    default: bytes.append(0)
    }
    try Data(bytes).write(to: place)
    #expect(cache.image("a", now: now) == nil)
    #expect(try folder.images().isEmpty)
    #expect(cache.byteCount == 0)
    try keep("a", in: cache)
    #expect(cache.image("a", now: now) != nil)
  }

  @Test("that were put in the place of others are dropped")
  func swapped() throws {
    let cache = try open()
    try keep("a", 1000, in: cache)
    let first = try folder.images()
    try keep("b", 2000, in: cache)
    let second = try folder.images().filter { !first.contains($0) }
    let (a, b) = (folder.path("cache/\(first[0])"), folder.path("cache/\(second[0])"))
    try FileManager.default.removeItem(atPath: a)
    try FileManager.default.copyItem(atPath: b, toPath: a)
    #expect(cache.image("a", now: now) == nil)
    #expect(cache.image("b", now: now)?.image.count == 2000)
  }

  @Test("stay under a newer key, and after the key of before is gone those that came since")
  func newerKey() throws {
    try keep("a", in: try open())
    var newer = keys
    try newer.addKey(at: 1)
    let cache = try open(keys: newer)
    try keep("b", in: cache)
    #expect(cache.image("a", now: now) != nil && cache.image("b", now: now) != nil)
    try newer.removeKey(keys.currentID)
    let later = try open(keys: newer)
    #expect(later.image("a", now: now) == nil)
    #expect(later.image("b", now: now) != nil)
    #expect(try folder.images().count == 1)
  }

  @Test("are gone, without a word, under another key")
  func otherKey() throws {
    try keep("a", in: try open())
    let other = try open(keys: try KeyRing(at: 0))
    #expect(other.image("a", now: now) == nil)
    #expect(try folder.images().isEmpty)
    try keep("a", in: other)
    #expect(other.image("a", now: now) != nil)
  }

  @Test("leave alone what is not theirs, and clear away what an interrupted program left")
  func foreign() throws {
    try keep("a", in: try open())
    for name in ["notes.txt", ".young.tmp", ".old.tmp"] {
      try Data("x".utf8).write(to: URL(fileURLWithPath: folder.path("cache/\(name)")))
    }
    for (name, time) in [(".young.tmp", now - 10), (".old.tmp", now - 4000)] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: time)], ofItemAtPath: folder.path("cache/\(name)"))
    }
    #expect(try open().image("a", now: now) != nil)
    let names = try folder.images()
    #expect(names.contains("notes.txt") && names.contains(".young.tmp") && !names.contains(".old.tmp"))
  }

  @Test("are kept by two programs with one folder beside each other")
  func two() throws {
    let (one, other) = (try open(), try open())
    try keep("a", in: one)
    try keep("b", in: other)
    #expect(one.image("a", now: now) != nil)
    // What another program has put there meanwhile is seen, and counts against the bound.
    #expect(one.image("b", now: now) != nil && one.byteCount == 2 * other.byteCount)
    let third = try open()
    #expect(third.image("a", now: now) != nil && third.image("b", now: now) != nil)
  }
}
