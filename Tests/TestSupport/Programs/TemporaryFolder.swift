public import Foundation

/// A folder that goes with its last owner, unless it is to be kept.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let url: URL
  private let isKept: Bool

  /// Makes an empty folder.
  public init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("analysis-test-\(UUID().uuidString)")
    isKept = false
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  /// Makes a folder at a place, which stays.
  public init(kept url: URL) throws {
    self.url = url
    isKept = true
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    if !isKept { try? FileManager.default.removeItem(at: url) }
  }

  /// The path of a file in it.
  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// What a file in it holds; nothing when it cannot be read.
  func bytes(_ name: String) -> [UInt8] {
    [UInt8]((try? Data(contentsOf: URL(fileURLWithPath: path(name)))) ?? Data())
  }
}
