public import Foundation

/// Prometheus' own judge of what is written for it, where it is installed.
public enum Promtool {
  private static let path = HelperProgram.find("/usr/bin/promtool")

  /// Whether it is there.
  public static var isAvailable: Bool { path != nil }

  /// What it has to say against a text of metrics; nothing when all is well.
  public static func complaints(ofMetrics text: String) async throws -> String {
    try await complaints(["check", "metrics"], input: Array(text.utf8))
  }

  /// What it says of other arguments, when it does not end with 0.
  public static func complaints(
    _ arguments: [String], input: [UInt8] = [], directory: URL? = nil
  ) async throws -> String {
    guard let path else { throw TestSupportError("promtool is not installed") }
    let ended = try await HelperProgram.run(path, arguments, input: input, directory: directory)
    let said = String(decoding: ended.output, as: UTF8.self) + ended.errors
    // It warns of names by an exit code of its own, and of nothing else in words when it ends with 0.
    return ended.status == 0 && !ended.wasKilled ? "" : "\(ended.status): \(said)"
  }
}
