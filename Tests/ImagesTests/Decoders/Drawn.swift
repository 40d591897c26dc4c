import Glibc

@testable import Images

/// Pictures of any size.
enum Drawn {
  /// A grey JPEG; one with an orientation has it in an EXIF block.
  static func jpeg(_ width: Int, _ height: Int, orientation: UInt8? = nil) throws -> [UInt8] {
    let pixels = try PixelBuffer(PixelSize(width, height))
    memset(pixels.start, 128, width * height * 3)
    return lying(try JPEGEncoder.encode(pixels, quality: 80, .halfBoth), orientation)
  }

  /// A JPEG of 49 megapixels of noise that lies on its side and is not whole blocks, so that it is decoded and encoded
  /// anew, several times until it fits: that takes seconds and hundreds of megabytes.
  static func costlyJPEG() throws -> [UInt8] { try costly.get() }

  private static let costly = Result {
    let side = 6999
    let noise = (0..<65_536).map { _ in UInt64.random(in: 0...UInt64.max) }
    let pixels = try PixelBuffer(PixelSize(side, side))
    for row in 0..<side {
      let place = UnsafeMutableRawBufferPointer(start: pixels.start + row * side * 3, count: side * 3)
      noise.withUnsafeBytes { noise in
        let start = row * 977 % (noise.count - place.count)
        place.copyMemory(from: UnsafeRawBufferPointer(rebasing: noise[start..<start + place.count]))
      }
    }
    return lying(try JPEGEncoder.encode(pixels, quality: 5, .halfBoth), 6)
  }

  private static func lying(_ file: [UInt8], _ orientation: UInt8?) -> [UInt8] {
    guard let orientation else { return file }
    let exif =
      Array("Exif\0\0II*\0\u{8}\0\0\0\u{1}\0\u{12}\u{1}\u{3}\0\u{1}\0\0\0".utf8)
      + [orientation, 0, 0, 0, 0, 0, 0, 0]
    return file.prefix(2) + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + file.dropFirst(2)
  }
}
