import Cturbojpeg

/// JPEGs drawn for a test.
enum TestPicture {
  struct Failure: Error {}

  /// A picture of one colour with a darker square in its middle.
  static func jpeg(
    red: UInt8 = 200, green: UInt8 = 80, blue: UInt8 = 80, width: Int = 160, height: Int = 120
  ) throws -> [UInt8] {
    var pixels: [UInt8] = []
    for row in 0..<height {
      for column in 0..<width {
        let isMiddle = abs(row - height / 2) < height / 8 && abs(column - width / 2) < width / 8
        for channel in [red, green, blue] { pixels.append(isMiddle ? channel / 4 : channel) }
      }
    }
    guard let encoder = tjInitCompress() else { throw Failure() }
    defer { tjDestroy(encoder) }
    var bytes: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    guard
      tjCompress2(
        encoder, pixels, Int32(width), 0, Int32(height), Int32(TJPF_RGB.rawValue), &bytes, &count,
        Int32(TJSAMP_420.rawValue), 85, 0) == 0, let bytes
    else { throw Failure() }
    defer { tjFree(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }
}
