/// A 128-bit number for the bytes of an image. It tells images apart; it is no protection against someone
/// who makes two images alike on purpose. (SHA-256 of 120 KB would cost more than receiving it.)
struct ImageDigest: Hashable, Sendable {
  let high: UInt64
  let low: UInt64
  let count: Int

  init(_ bytes: UnsafeRawBufferPointer) {
    var a: UInt64 = 0xa076_1d64_78bd_642f
    var b: UInt64 = 0xe703_7ed1_a0b4_28db
    var offset = 0
    let end = bytes.count
    while offset + 32 <= end {
      let w0 = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let w1 = bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
      let w2 = bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self)
      let w3 = bytes.loadUnaligned(fromByteOffset: offset + 24, as: UInt64.self)
      a = Self.folded(w0 ^ 0x8ebc_6af0_9c88_c6e3, w1 ^ a)
      b = Self.folded(w2 ^ 0x5899_65cc_7537_4cc3, w3 ^ b)
      offset += 32
    }
    while offset < end {
      a = Self.folded(a ^ UInt64(bytes[offset]), 0x1d8e_4e27_c47d_124f)
      offset += 1
    }
    high = Self.folded(a ^ 0xeb44_acca_b455_d165, b ^ UInt64(end))
    low = Self.folded(b ^ 0xa076_1d64_78bd_642f, a ^ UInt64(end) &* 0x9e37_79b9_7f4a_7c15)
    count = end
  }

  /// The digest of the UTF-8 bytes of a text.
  init(text: String) {
    self = Array(text.utf8).withUnsafeBytes { ImageDigest($0) }
  }

  /// 32 hexadecimal digits.
  var hex: String { Self.hex(high) + Self.hex(low) }

  static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Both halves of the full product, folded together.
  private static func folded(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
