/// Packs bits into bytes from the lowest up, as deflate wants them.
struct BitWriter {
  private var bytes: [UInt8]
  private var pending: UInt32 = 0
  private var count: UInt32 = 0

  /// Starts after the given bytes.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Appends the low bits of a number, lowest first.
  mutating func append(_ value: UInt32, _ width: UInt32) {
    pending |= value << count
    count += width
    while count >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending >>= 8
      count -= 8
    }
  }

  /// Appends a Huffman code, highest bit first.
  mutating func appendCode(_ code: UInt32, _ width: UInt32) {
    var reversed: UInt32 = 0
    for bit in 0..<width { reversed |= (code >> bit & 1) << (width - 1 - bit) }
    append(reversed, width)
  }

  /// The bytes, the last one filled with zeros.
  func finished() -> [UInt8] {
    count == 0 ? bytes : bytes + [UInt8(truncatingIfNeeded: pending)]
  }
}
