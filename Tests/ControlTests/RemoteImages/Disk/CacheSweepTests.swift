import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Support

@Suite("A sweep of the images on the disk")
struct CacheSweepTests {
  private let folder: TemporaryFolder
  private let now = 1_800_000_000.0
  private let old = String(repeating: "a", count: 64)
  private let young = String(repeating: "b", count: 64)

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("cache"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700]
    )
  }

  /// Puts a file of a hundred bytes into the folder, so many seconds old.
  private func put(_ name: String, age: Double) throws {
    try Data(repeating: 1, count: 100).write(to: URL(fileURLWithPath: folder.path("cache/\(name)")))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: now - age)],
      ofItemAtPath: folder.path("cache/\(name)"))
  }

  private func sweep(dry: Bool = false, _ name: String = "cache") throws -> CacheSweep {
    try CacheSweep(of: folder.path(name), maximumAge: 86_400, now: now, isDry: dry)
  }

  @Test("removes what is a day old, keeps what is younger, and counts files and bytes")
  func age() throws {
    try put(old, age: 86_400)
    try put(String(repeating: "c", count: 64), age: 10_000_000)
    try put(young, age: 86_399)
    let swept = try sweep()
    #expect(swept.files == 2 && swept.bytes == 200)
    #expect(try folder.images() == [young])
    #expect(try sweep() == CacheSweep())
  }

  @Test("removes nothing in a dry run, and counts what it would")
  func dry() throws {
    try put(old, age: 90_000)
    try put(".1a2b.tmp", age: 90_000)
    try put(young, age: 0)
    let swept = try sweep(dry: true)
    #expect(swept.files == 2 && swept.bytes == 200)
    #expect(try folder.images().count == 3)
    #expect(try sweep() == swept)
  }

  @Test("of a folder that is not there finds nothing and makes none")
  func noFolder() throws {
    #expect(try sweep("nowhere") == CacheSweep())
    #expect(try sweep("nowhere/cache") == CacheSweep())
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["cache"])
  }

  @Test(
    "leaves alone what is no file of a cache, however old",
    arguments: [
      "notes.txt", "names", "0", String(repeating: "A", count: 64), String(repeating: "a", count: 63),
      String(repeating: "a", count: 65), String(repeating: "a", count: 63) + "g", ".tmp", ".a-b.tmp",
      ".vimrc.tmp.swp", ".1A2B.tmp", "1a2b.tmp", ".\(String(repeating: "z", count: 14)).tmp",
    ])
  func foreign(name: String) throws {
    try put(name, age: 10_000_000)
    #expect(try sweep() == CacheSweep())
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("cache")) == [name])
  }

  @Test("follows no link, neither of a file nor of the folder, and takes no folder for a file")
  func links() throws {
    try put("target", age: 10_000_000)
    symlink(folder.path("cache/target"), folder.path("cache/\(old)"))
    // A link's own time, not its target's.
    let time = timespec(tv_sec: 1_700_000_000, tv_nsec: 0)
    #expect(utimensat(AT_FDCWD, folder.path("cache/\(old)"), [time, time], AT_SYMLINK_NOFOLLOW) == 0)
    try FileManager.default.createDirectory(
      atPath: folder.path("cache/\(young)"), withIntermediateDirectories: false)
    #expect(utimensat(AT_FDCWD, folder.path("cache/\(young)"), [time, time], 0) == 0)
    #expect(try sweep() == CacheSweep())
    #expect(try folder.images() == [old, young, "target"])

    try FileManager.default.removeItem(atPath: folder.path("cache/\(old)"))
    try put(old, age: 90_000)
    symlink(folder.path("cache"), folder.path("link"))
    for link in ["link", "link/"] {
      #expect(throws: SystemError.self) {
        try CacheSweep(of: "\(folder.url.path)/\(link)", maximumAge: 1, now: now, isDry: false)
      }
    }
    #expect(try folder.images().contains(old))
  }

  @Test("takes away what an interrupted program left unfinished, when it is an hour old")
  func unfinished() throws {
    try put(".1a2b.tmp", age: 3600)
    try put(".3c4d.tmp", age: 3599)
    #expect(try sweep().files == 1)
    #expect(try folder.images() == [".3c4d.tmp"])
  }

  @Test("takes away what bears a time to come, by a clock that went wrong, but for small differences")
  func future() throws {
    try put(old, age: -3601)
    try put(young, age: -3600)
    #expect(try sweep().files == 1)
    #expect(try folder.images() == [young])
  }

  @Test("is refused where others may look in, and says which file cannot be removed")
  func refused() throws {
    try put(old, age: 90_000)
    chmod(folder.path("cache"), 0o750)
    let error = #expect(throws: SystemError.self) { try sweep() }
    #expect(error?.code == .notPrivate)
    #expect(try folder.images() == [old])
    chmod(folder.path("cache"), 0o500)
    defer { chmod(folder.path("cache"), 0o700) }
    // To root nothing is forbidden.
    guard geteuid() != 0 else { return }
    let other = #expect(throws: SystemError.self) { try sweep() }
    #expect(other?.code == .unwritable && other?.description.contains(old) == true)
  }

  @Test("beside a program that has the folder open takes nothing from it but the images")
  func beside() throws {
    let keys = try KeyRing(at: 0)
    let cache = try DiskCache.test(folder, keys: keys, now: now - 90_000)
    try cache.keep("a", CachedFile(end: now + 1, image: [1, 2, 3]), now: now - 90_000)
    try cache.keep("b", CachedFile(end: now + 1, image: [1, 2, 3]), now: now)
    #expect(try sweep().files == 1)
    #expect(cache.image("a", now: now) == nil)
    #expect(cache.image("b", now: now)?.image == [1, 2, 3])
    try cache.keep("a", CachedFile(end: now + 1, image: [4]), now: now)
    #expect(try DiskCache.test(folder, keys: keys, now: now).image("a", now: now)?.image == [4])
  }
}
