import Support

/// Grey PNGs, made here so that no test needs a program to draw one. They have no chunk that they could do without.
public enum TinyPicture {
  /// A picture of 16 by 16 pixels in a grey; each grey is another picture.
  ///
  /// - Parameter words: What is noted in it, as metadata.
  public static func png(grey: UInt8 = 128, saying words: String? = nil) -> [UInt8] {
    let note = words.map { chunk("tEXt", Array("Comment\0\($0)".utf8)) } ?? []
    return png(side: 16, note) { grey }
  }

  /// A square picture of noise, of which the file has a byte for each pixel and a few more.
  ///
  /// - Parameter side: At most 255.
  public static func noise(side: Int) -> [UInt8] {
    var generator = SeededGenerator(seed: 7)
    return png(side: side, []) { UInt8.random(in: 0...255, using: &generator) }
  }

  private static func png(side: Int, _ note: [UInt8], pixel: () -> UInt8) -> [UInt8] {
    let rows = (0..<side).flatMap { _ in [UInt8(0)] + (0..<side).map { _ in pixel() } }
    let header = bytes(UInt32(side)) + bytes(UInt32(side)) + [8, 0, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + chunk("IHDR", header) + note + chunk("IDAT", zlib(rows)) + chunk("IEND", [])
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + content
    return bytes(UInt32(content.count)) + body + bytes(crc(body))
  }

  /// One stored block, which is all that so little needs.
  private static func zlib(_ content: [UInt8]) -> [UInt8] {
    let length = UInt16(content.count)
    let sizes = [length, ~length].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    return [0x78, 0x01, 0x01] + sizes + content + bytes(adler(content))
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
  }

  private static func crc(_ content: [UInt8]) -> UInt32 {
    ~content.reduce(UInt32.max) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
      }
    }
  }

  private static func adler(_ content: [UInt8]) -> UInt32 {
    let (a, b) = content.reduce((UInt32(1), UInt32(0))) { sums, byte in
      let a = (sums.0 + UInt32(byte)) % 65521
      return (a, (sums.1 + a) % 65521)
    }
    return b << 16 | a
  }
}
