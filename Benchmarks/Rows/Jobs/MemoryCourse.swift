import BenchmarkKit

/// How a process's memory went over its life.
enum MemoryCourse {
  /// The peak, the medians of the first, the middle and the last tenth of the run, and by how much the last is above
  /// the first; all in megabytes of a million bytes. What only warms up is there by the middle.
  ///
  /// - Parameters:
  ///   - memory: The resident bytes at even distances of time, from the start to the end.
  ///   - peak: The most that the kernel saw.
  /// - Throws: `BenchmarkError` when the run was too short to be looked at twice.
  static func figures(_ memory: [Int], peak: Int) throws -> [String: Double] {
    let tenth = max(1, memory.count / 10)
    let middle = memory.dropFirst((memory.count - tenth) / 2).prefix(tenth)
    guard memory.count >= 2, let first = Summary(memory.prefix(tenth).map(Double.init)),
      let middle = Summary(middle.map(Double.init)),
      let last = Summary(memory.suffix(tenth).map(Double.init))
    else {
      throw BenchmarkError("The worker had ended before its memory was looked at twice; give more jobs")
    }
    return [
      "peak_mb": Double(peak) / 1e6, "first_tenth_mb": first.median / 1e6,
      "middle_tenth_mb": middle.median / 1e6, "last_tenth_mb": last.median / 1e6,
      "growth_mb": (last.median - first.median) / 1e6,
    ]
  }
}
