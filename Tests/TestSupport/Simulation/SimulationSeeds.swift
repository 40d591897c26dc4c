import Glibc

/// Which seeds the histories of this run are drawn from.
public enum SimulationSeeds {
  static let variable = "ANALYSIS_SIMULATION_SEED"

  /// The seeds that the environment asks for; nil when it leaves them to the test.
  ///
  /// - Throws: ``TestSupportError`` when the variable is neither a seed nor a range of seeds.
  public static func chosen() throws -> ClosedRange<UInt64>? {
    guard let value = getenv(variable) else { return nil }
    return try read(String(cString: value))
  }

  /// Reads `17` or `1000-5000`.
  ///
  /// - Throws: ``TestSupportError`` for anything else.
  public static func read(_ text: String) throws -> ClosedRange<UInt64> {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
    guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first <= last
    else {
      throw TestSupportError(
        "\(variable) is a seed or a range of seeds, for instance 17 or 1000-5000, not \(text)")
    }
    return first...last
  }
}
