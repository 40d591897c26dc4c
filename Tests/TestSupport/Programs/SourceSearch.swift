import Foundation

/// The Swift files of the package's sources that hold a text, by their paths in it: for ideas that have one home.
public func sources(with text: String) throws -> [String] {
  let root = packagePath("Sources")
  let files = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
  let found = try files.filter { $0.hasSuffix(".swift") }.filter {
    try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8).contains(text)
  }
  guard !files.isEmpty else { throw TestSupportError("there are no sources in \(root)") }
  return found.sorted()
}
