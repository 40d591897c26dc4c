import Foundation
import TestSupport

/// A folder of a test's own with files in it.
struct Files {
  private let folder: TemporaryFolder

  init(_ files: [String: [UInt8]] = [:]) throws {
    folder = try TemporaryFolder()
    for (name, bytes) in files { try write(name, bytes) }
  }

  var path: String { folder.url.path }

  func callAsFunction(_ name: String) -> String { folder.path(name) }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    let url = folder.url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  func write(_ name: String, _ text: String) throws {
    try write(name, Array(text.utf8))
  }

  func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.url.appendingPathComponent(name)), as: UTF8.self)
  }

  func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: folder.url.appendingPathComponent(name)))
  }

  /// What lies in the folder, or in one below it.
  func names(_ below: String? = nil) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: below.map { folder.path($0) } ?? path).sorted()
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(at: folder.url.appendingPathComponent(name))
  }
}
