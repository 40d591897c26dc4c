/// A valid gzip stream that grows 158-fold: white space, coded as one literal and repeats of 258 bytes.
enum GzipBomb {
  /// Bytes after unpacking: 64 MiB, a power of two so that the checksum can be found by doubling.
  static let unpackedSize = 1 << 26

  /// The stream, made when first asked for.
  static let stream = make()

  private static func make() -> [UInt8] {
    var bits = BitWriter(bytes: [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
    // One final block with the fixed codes: literals are 8 bits long, length 258 is 11000101, distance 1 is
    // 00000, the end is 0000000.
    bits.append(0b011, 3)
    let (repeats, rest) = (unpackedSize - 1).quotientAndRemainder(dividingBy: 258)
    for _ in 0...rest { bits.appendCode(0x30 + UInt32(UInt8(ascii: " ")), 8) }
    for _ in 0..<repeats {
      bits.appendCode(0b1100_0101, 8)
      bits.append(0, 5)
    }
    bits.append(0, 7)
    var stream = bits.finished()
    for number in [checksum(), UInt32(unpackedSize)] {
      for shift in stride(from: UInt32(0), to: 32, by: 8) {
        stream.append(UInt8(truncatingIfNeeded: number >> shift))
      }
    }
    return stream
  }

  /// The CRC-32 of the unpacked bytes: of one space, doubled 26 times.
  private static func checksum() -> UInt32 {
    var crc: UInt32 = ~0 ^ UInt32(UInt8(ascii: " "))
    for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ polynomial : crc >> 1 }
    crc = ~crc
    // x to the power of 8 times the length so far, modulo the polynomial; bit 31 is x to the power of 0.
    var power: UInt32 = 1 << 23
    var length = 1
    while length < unpackedSize {
      crc = product(power, crc) ^ crc
      power = product(power, power)
      length *= 2
    }
    return crc
  }

  private static let polynomial: UInt32 = 0xedb8_8320

  private static func product(_ a: UInt32, _ b: UInt32) -> UInt32 {
    var result: UInt32 = 0
    var b = b
    for bit in (UInt32(0)...31).reversed() {
      if a >> bit & 1 == 1 { result ^= b }
      b = b & 1 == 1 ? (b >> 1) ^ polynomial : b >> 1
    }
    return result
  }
}

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
