import Cturbojpeg

/// Decodes a JPEG.
enum JPEGDecoder {
  /// The picture as it is stored and at its full size: RGB, or inks. The library's own scaling is not used:
  /// it averages samples and not light.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, _ header: JPEGHeader, _ handle: borrowing TurboHandle
  ) throws(ImageRefusal) -> PixelBuffer {
    let size = PixelSize(header.width, header.height)
    let pixels = try PixelBuffer(size, header.layout)
    let format = header.layout == .inks ? TJPF_CMYK : TJPF_RGB
    let result = tjDecompress2(
      handle.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count),
      pixels.start, numericCast(size.width), 0, numericCast(size.height), numericCast(format.rawValue),
      TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT)
    guard result == 0 else { throw handle.refusal }
    return pixels
  }
}
