import Foundation
import TestSupport

extension TemporaryFolder {
  func json(_ name: String) throws -> [String: ReadJSON] {
    try JSONDecoder().decode([String: ReadJSON].self, from: Data(try bytes(name)))
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
