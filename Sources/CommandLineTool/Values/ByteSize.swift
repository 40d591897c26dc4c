/// Sizes in bytes with a unit: decimal units are powers of 1,000, binary ones (with an `i`) powers of 1,024.
enum ByteSize {
  private static let units: [(suffix: String, factor: Int)] = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1),
  ]

  static func parse(_ text: String) throws(ValueError) -> Int {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let suffix = text.dropFirst(digits.count).lowercased()
    let factor = suffix.isEmpty ? 1 : units.first { $0.suffix.lowercased() == suffix }?.factor
    guard !digits.isEmpty, let factor else {
      throw ValueError("is not a size; write a whole number with a unit, for example 10MB or 64MiB")
    }
    guard let count = Int(digits) else { throw ValueError("is too large") }
    let (bytes, overflow) = count.multipliedReportingOverflow(by: factor)
    guard !overflow else { throw ValueError("is too large") }
    return bytes
  }

  /// The shortest exact writing of a number of bytes.
  @Sendable static func text(_ bytes: Int) -> String {
    guard bytes > 0 else { return String(bytes) }
    let exact = units.filter { bytes.isMultiple(of: $0.factor) && $0.factor > 1 }
    guard let best = exact.min(by: { bytes / $0.factor < bytes / $1.factor }) else { return String(bytes) }
    return "\(bytes / best.factor)\(best.suffix)"
  }
}
