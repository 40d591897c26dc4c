import Foundation

/// A folder of a test's own, removed with it.
struct TemporaryFolder: ~Copyable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "operations-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  /// Makes a file with a mode and returns its path.
  func file(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
    let place = "\(path)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: place))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: place)
    return place
  }
}
