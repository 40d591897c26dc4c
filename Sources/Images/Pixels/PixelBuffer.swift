/// A decoded picture: 8-bit RGB, row after row without gaps. The memory is plain, not an array's, so
/// that a large picture is neither zeroed before it is decoded nor copied by accident, and running out
/// of it is a refusal instead of a crash.
struct PixelBuffer: ~Copyable {
  let size: PixelSize
  /// Samples a pixel that there is room for: 3, or 4 while CMYK is decoded.
  private let samples: Int
  let start: UnsafeMutablePointer<UInt8>

  init(_ size: PixelSize, samples: Int = 3) throws(ImageRefusal) {
    let (count, overflow) = size.pixels.multipliedReportingOverflow(by: samples)
    guard size.width > 0, size.height > 0, !overflow, let memory = Self.allocate(count) else {
      throw .notProcessed("memory is short")
    }
    self.size = size
    self.samples = samples
    start = memory
  }

  deinit { Self.release(start) }

  /// Turns four ink samples a pixel into three of light, in place. Inks in JPEG follow Adobe's custom,
  /// with or without its marker: 255 is no ink. This is the plain conversion that browsers make when
  /// they do not apply a profile.
  mutating func convertInksToRGB() {
    guard samples == 4 else { return }
    for pixel in 0..<size.pixels {
      let from = start + pixel * 4
      let to = start + pixel * 3
      let black = Int(from[3])
      let (red, green, blue) = (Int(from[0]), Int(from[1]), Int(from[2]))
      // Products of two values up to 255, divided and rounded: at most 255 again.
      to[0] = UInt8((red * black + 127) / 255)
      to[1] = UInt8((green * black + 127) / 255)
      to[2] = UInt8((blue * black + 127) / 255)
    }
  }
}
