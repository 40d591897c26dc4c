import BenchmarkKit
import Cturbojpeg

/// JPEGs drawn for a measurement: soft colours under noise, as a phone's camera gives them.
///
/// All of one kind have the same number of pixels and, within a few per cent, of bytes; no two are alike. It is
/// the noise that makes the bytes, so its strength is found by trial, and the quality is the usual one of phones.
struct DrawnPictures: Sendable {
  let width: Int
  let height: Int
  private let noise: Int

  private static let quality: Int32 = 85
  private static let greatestNoise = 255

  /// Pictures of a size in pixels with about so many bytes.
  ///
  /// - Throws: `BenchmarkError` when no noise makes so many bytes of so few pixels, or memory is short.
  init(width: Int, height: Int, bytes: Int) throws {
    self.width = width
    self.height = height
    var (low, high) = (0, Self.greatestNoise)
    guard try Self.draw(width, height, noise: high, seed: 0).count >= bytes else {
      throw BenchmarkError(
        "\(width) x \(height) pixels do not make a JPEG of \(bytes) bytes; draw more pixels")
    }
    while high - low > 1 {
      let middle = (low + high) / 2
      if try Self.draw(width, height, noise: middle, seed: 0).count < bytes {
        low = middle
      } else {
        high = middle
      }
    }
    noise = high
  }

  /// The picture with a number.
  func jpeg(_ number: Int) throws -> [UInt8] {
    try Self.draw(width, height, noise: noise, seed: UInt64(number) + 1)
  }

  private static func draw(_ width: Int, _ height: Int, noise: Int, seed: UInt64) throws -> [UInt8] {
    guard let encoder = tjInitCompress() else {
      throw BenchmarkError("libturbojpeg has no memory for an encoder")
    }
    defer { tjDestroy(encoder) }
    let pixels = pixels(width, height, noise: noise, seed: seed)
    var bytes: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    let code = tjCompress2(
      encoder, pixels, Int32(width), 0, Int32(height), Int32(TJPF_RGB.rawValue), &bytes, &count,
      Int32(TJSAMP_420.rawValue), quality, 0)
    defer { if let bytes { tjFree(bytes) } }
    guard code == 0, let bytes else { throw BenchmarkError("libturbojpeg could not encode a drawn picture") }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }

  /// RGB samples: two slopes of colour, and noise of Marsaglia's xorshift, a byte of it for each sample.
  private static func pixels(_ width: Int, _ height: Int, noise: Int, seed: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: width * height * 3) { samples, count in
      var state = (seed &+ 1) &* 0x9e37_79b9_7f4a_7c15
      var index = 0
      for row in 0..<height {
        let down = row * 96 / height
        for column in 0..<width {
          let across = column * 96 / width
          state ^= state << 13
          state ^= state >> 7
          state ^= state << 17
          for (channel, base) in [(0, 96 + down), (1, 64 + across), (2, 48 + (down + across) / 2)] {
            let random = Int(truncatingIfNeeded: state >> (UInt64(channel) * 16 + 8) & 0xff) - 128
            samples[index] = UInt8(clamping: base + random * noise / 256)
            index += 1
          }
        }
      }
      count = index
    }
  }
}
