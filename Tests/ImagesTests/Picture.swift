import Testing

@testable import Images

/// Decoded pixels, to compare pictures by.
struct Picture {
  let width: Int
  let height: Int
  /// RGB, row after row.
  let samples: [UInt8]

  struct Malformed: Error {}

  /// Reads a binary PPM as Pillow writes it: `P6`, width, height, 255, and the samples.
  init(ppm: [UInt8]) throws {
    var position = 0
    func word() -> String {
      let start = position
      while position < ppm.count, ![0x20, 0x0A].contains(ppm[position]) { position += 1 }
      position += 1
      return String(decoding: ppm[start..<position - 1], as: UTF8.self)
    }
    let header = [word(), word(), word(), word()]
    guard header[0] == "P6", header[3] == "255", let width = Int(header[1]), let height = Int(header[2]),
      ppm.count - position == width * height * 3
    else { throw Malformed() }
    self.width = width
    self.height = height
    samples = Array(ppm[position...])
  }

  /// Decodes a JPEG; a warning of the decoder is an error.
  init(jpeg: [UInt8]) throws {
    (width, height, samples) = try jpeg.withUnsafeBytes { bytes in
      let handle = try TurboHandle(.transform)
      let header = try JPEGHeader(bytes, handle)
      var pixels = try JPEGDecoder.decode(bytes, header, handle)
      pixels.finishColours(nil)
      return (header.width, header.height, Self.samples(pixels))
    }
  }

  /// Takes decoded pixels.
  init(_ pixels: borrowing PixelBuffer) {
    (width, height, samples) = (pixels.size.width, pixels.size.height, Self.samples(pixels))
  }

  private static func samples(_ pixels: borrowing PixelBuffer) -> [UInt8] {
    Array(UnsafeBufferPointer(start: pixels.start, count: pixels.size.pixels * 3))
  }

  /// The mean difference of a sample, 0 to 255; nil for pictures of different sizes.
  func difference(from other: Picture) -> Double? {
    guard width == other.width, height == other.height else { return nil }
    let sum = zip(samples, other.samples).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(samples.count)
  }
}
