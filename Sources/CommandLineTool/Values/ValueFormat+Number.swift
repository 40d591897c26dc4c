extension ValueFormat where Value == Int {
  /// Any whole number.
  public static var int: Self { int(in: Int.min...Int.max) }

  /// A whole number within a range.
  public static func int(in range: ClosedRange<Int>) -> Self {
    ValueFormat(
      name: "N",
      parse: { (given: String) throws(ValueError) -> Int in
        // Int's own initialiser takes "+5", which nobody means; a number too large for it is named as one.
        guard !given.hasPrefix("+"), isWholeNumber(given) else {
          throw ValueError("is not a whole number")
        }
        guard let value = Int(given), range.contains(value) else {
          throw ValueError("is outside the range \(rangeText(range))")
        }
        return value
      },
      text: { String($0) })
  }

  /// A number of bytes: `512`, `64KB`, `10MB` (powers of 1,000), `64MiB` (powers of 1,024).
  public static var byteSize: Self { byteSize(in: 0...Int.max) }

  /// A number of bytes within a range.
  public static func byteSize(in range: ClosedRange<Int>) -> Self {
    ValueFormat(
      name: "SIZE",
      parse: { (given: String) throws(ValueError) -> Int in
        let bytes = try ByteSize.parse(given)
        guard range.contains(bytes) else {
          throw ValueError(
            "is outside the range \(ByteSize.text(range.lowerBound)) to \(ByteSize.text(range.upperBound))")
        }
        return bytes
      },
      text: ByteSize.text)
  }
}

extension ValueFormat where Value == Double {
  /// A finite number within a range, written with a decimal point.
  public static func double(in range: ClosedRange<Double>) -> Self {
    ValueFormat(
      name: "NUMBER",
      parse: { (given: String) throws(ValueError) -> Double in
        let isPlain = given.utf8.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
        guard isPlain, let value = Double(given), value.isFinite else {
          throw ValueError("is not a number")
        }
        guard range.contains(value) else {
          throw ValueError("is outside the range \(range.lowerBound) to \(range.upperBound)")
        }
        return value
      },
      text: { String($0) })
  }
}

private func isWholeNumber(_ text: String) -> Bool {
  let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
  return !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) }
}

private func rangeText(_ range: ClosedRange<Int>) -> String {
  switch (range.lowerBound, range.upperBound) {
  case (Int.min, Int.max): "of a 64-bit number"
  case (let low, Int.max): "from \(low)"
  case (let low, let high): "\(low) to \(high)"
  }
}

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
