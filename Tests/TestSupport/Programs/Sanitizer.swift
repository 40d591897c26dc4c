import Foundation

/// The sanitizer that the tests and the programs were built with, as `scripts/test` says.
public enum Sanitizer {
  /// Whether there is one: another library cannot be loaded before it.
  public static var isOn: Bool { name != nil }
  /// Whether it has put its own memory allocator in the place of the system's, and keeps what was freed for a while.
  public static var keepsMemory: Bool { name == "address" }

  private static let name = ProcessInfo.processInfo.environment["ANALYSIS_SANITIZER"]
}
