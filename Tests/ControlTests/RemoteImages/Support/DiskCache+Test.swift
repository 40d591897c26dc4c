import Foundation
import TestSupport

@testable import Control
@testable import Images

extension DiskCache {
  /// A cache in a test's folder.
  static func test(
    _ folder: TemporaryFolder, limit: Int = 1_000_000, keys: KeyRing? = nil, maximumAge: Double = 86_400,
    now: Double = ManualClock().now
  ) throws -> DiskCache {
    try DiskCache(
      folder.path("cache"), limit: limit, keys: keys ?? KeyRing(at: 0), maximumAge: maximumAge, now: now)
  }
}

extension TemporaryFolder {
  /// The names of what lies in a folder of it, but for the key of the names.
  func images(_ name: String = "cache") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(name)).filter { $0 != "names" }.sorted()
  }

  /// Puts a file in the place of a folder, so that nothing can be written into it.
  func replaceByFile(_ name: String) throws {
    try FileManager.default.removeItem(atPath: path(name))
    try Data().write(to: URL(fileURLWithPath: path(name)))
  }
}
