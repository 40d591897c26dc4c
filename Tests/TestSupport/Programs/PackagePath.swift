import Foundation

/// A file of the package, by its path in it.
public func packagePath(_ path: String) -> String {
  var folder = URL(fileURLWithPath: #filePath)
  for _ in 0..<4 { folder.deleteLastPathComponent() }
  return folder.appendingPathComponent(path).path
}
