public import Foundation

/// A folder that goes with its last owner.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let url: URL

  /// Makes an empty folder.
  public init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("analysis-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// The path of a file in it.
  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// What a file in it holds; nothing when it cannot be read.
  func bytes(_ name: String) -> [UInt8] {
    [UInt8]((try? Data(contentsOf: URL(fileURLWithPath: path(name)))) ?? Data())
  }
}
