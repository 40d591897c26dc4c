/// A drawn picture as a phone held upright stores it: lying on its side, with a note that it is to be turned.
enum PhonePicture {
  /// Puts the note (EXIF orientation 6, "turn clockwise") behind the first marker of a JPEG.
  static func lyingDown(_ jpeg: [UInt8]) -> [UInt8] {
    Array(jpeg.prefix(2)) + exif + Array(jpeg.dropFirst(2))
  }

  private static let exif: [UInt8] =
    [0xFF, 0xE1, 0, 34] + Array("Exif\0\0".utf8)
    // A TIFF header, little-endian, and one directory with one entry: tag 0x0112, a short, its value 6.
    + Array("II".utf8) + [42, 0, 8, 0, 0, 0] + [1, 0] + [0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0] + [
      0, 0, 0, 0,
    ]
}
