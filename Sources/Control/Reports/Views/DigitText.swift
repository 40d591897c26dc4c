/// Numbers in decimal, written without a text in between.
enum DigitText {
  /// Appends a whole number.
  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    if (0..<10).contains(number) { return bytes.append(digit(number)) }
    // 19 digits and a sign are the most that 64 bits have.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var first = 20
      var rest = number.magnitude
      repeat {
        first -= 1
        digits[first] = UInt8(truncatingIfNeeded: rest % 10) + 0x30
        rest /= 10
      } while rest > 0
      if number < 0 {
        first -= 1
        digits[first] = 0x2D
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
    }
  }

  /// Appends a number as Swift describes it: with the fewest digits that mean this very number.
  ///
  /// What is a whole number of millionths, as confidences mostly are, is written from that whole number. The
  /// division of two exact numbers is rounded as reading the decimal is, so that an equal quotient means that
  /// these digits are read back as the number; and of so few digits no other decimal is.
  static func append(_ number: Double, to bytes: inout [UInt8]) {
    let scaled = number * 1_000_000
    // Below a ten-thousandth Swift writes an exponent.
    guard scaled >= 100, scaled < 1_000_000 else { return described(number, to: &bytes) }
    var millionths = Int64(scaled + 0.5)
    guard Double(millionths) / 1_000_000 == number else {
      return described(number, to: &bytes)
    }
    var decimals = 6
    while millionths % 10 == 0 {
      millionths /= 10
      decimals -= 1
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8) { text in
      text[0] = 0x30
      text[1] = 0x2E
      for index in stride(from: decimals + 1, to: 1, by: -1) {
        text[index] = digit(millionths % 10)
        millionths /= 10
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[..<(decimals + 2)]))
    }
  }

  /// The sign of a digit.
  static func digit(_ number: Int64) -> UInt8 { UInt8(truncatingIfNeeded: number) + 0x30 }

  private static func described(_ number: Double, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: String(describing: number).utf8)
  }
}
