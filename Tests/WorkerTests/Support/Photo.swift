import Cturbojpeg

/// A picture as a phone takes it: a JPEG with what the phone knows of its owner.
enum Photo {
  struct NotDrawn: Error {}

  /// Words in its metadata.
  static let secrets = ["Exif", "52.3702N", "Taken by Ada"]

  static func withMetadata() throws -> [UInt8] {
    let exif = Array("Exif\0\0II*\0\u{8}\0\0\0\0\0\0\0\0\0 52.3702N".utf8)
    let comment = Array("Taken by Ada".utf8)
    let plain = try plain()
    return plain.prefix(2) + segment(0xE1, exif) + segment(0xFE, comment) + plain.dropFirst(2)
  }

  private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
  }

  private static func plain() throws -> [UInt8] {
    let (width, height) = (64, 48)
    let pixels = (0..<(width * height * 3)).map { UInt8(truncatingIfNeeded: $0 / 7) }
    guard let encoder = tjInitCompress() else { throw NotDrawn() }
    defer { tjDestroy(encoder) }
    var bytes: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    guard
      tjCompress2(
        encoder, pixels, Int32(width), 0, Int32(height), Int32(TJPF_RGB.rawValue), &bytes, &count,
        Int32(TJSAMP_420.rawValue), 85, 0) == 0, let bytes
    else { throw NotDrawn() }
    defer { tjFree(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }
}
