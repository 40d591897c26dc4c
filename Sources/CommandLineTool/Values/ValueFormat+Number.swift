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
          throw ValueError("is outside the range \(rangeWords(range))")
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

private func rangeWords(_ range: ClosedRange<Int>) -> String {
  switch (range.lowerBound, range.upperBound) {
  case (Int.min, Int.max): "of a 64-bit number"
  case (let low, Int.max): "from \(low)"
  case (let low, let high): "\(low) to \(high)"
  }
}
