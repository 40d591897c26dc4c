import Foundation

/// A folder of a test's own that goes with the test.
final class Folder: Sendable {
  let root: String

  init() throws {
    root = FileManager.default.temporaryDirectory.appending(path: "reports-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: root)
  }

  func path(_ name: String) -> String {
    "\(root)/\(name)"
  }

  func bytes(_ name: String) throws -> [UInt8] {
    try Array(Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  /// What is in the folder, hidden files among it.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root).sorted()
  }

  func json(_ name: String) throws -> [String: JSONValue] {
    try JSONDecoder().decode([String: JSONValue].self, from: Data(try bytes(name)))
  }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: path(name))
  }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
  }

  func permissions(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int
  }

  /// The file's number in its file system: another file in the same place has another.
  func node(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path(name))[.systemFileNumber] as? Int
  }
}
