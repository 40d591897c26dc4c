import Foundation
import TestSupport

@testable import Images

/// A key file of a test's own.
struct KeyFileOfTest {
  let folder: TemporaryFolder
  let path: String

  init(_ keys: Int = 1) throws {
    folder = try TemporaryFolder()
    path = folder.path("image.keys")
    for number in 0..<keys { _ = try KeyFile.addKey(path, at: 1_790_000_000 + Double(number)) }
  }

  var text: String {
    get throws { try String(contentsOfFile: path, encoding: .utf8) }
  }

  /// Writes another text in its place, for its owner alone.
  func write(_ text: String, mode: Int = 0o600) throws {
    try? FileManager.default.removeItem(atPath: path)
    let attributes: [FileAttributeKey: Any] = [.posixPermissions: mode]
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes)
    else { throw TestSupportError("\(path) cannot be written") }
    // Whatever the umask is.
    try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
  }

  var mode: Int? {
    get throws {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
  }
}

extension ImageEncryptionError {
  /// Everything that could be shown of it.
  var shown: String { "\(self) \(String(reflecting: self)) \(message) \(advice ?? "")" }
}
