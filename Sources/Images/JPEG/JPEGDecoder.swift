import Cturbojpeg

/// Decodes a JPEG to RGB.
enum JPEGDecoder {
  /// The picture, as it is stored, at the smallest of the library's own scales (eighths) that is no
  /// smaller than the wanted size. Scaling this way costs a part of a full decoding.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, _ header: JPEGHeader, atLeast wanted: PixelSize,
    _ handle: borrowing TurboHandle
  ) throws(ImageRefusal) -> PixelBuffer {
    let size = scaledSize(PixelSize(header.width, header.height), atLeast: wanted)
    let isInk = header.colours == .inks
    var pixels = try PixelBuffer(size, samples: isInk ? 4 : 3)
    let format = isInk ? TJPF_CMYK : TJPF_RGB
    let result = tjDecompress2(
      handle.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count),
      pixels.start, numericCast(size.width), 0, numericCast(size.height), numericCast(format.rawValue),
      TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT)
    guard result == 0 else { throw handle.refusal }
    if isInk { pixels.convertInksToRGB() }
    return pixels
  }

  private static func scaledSize(_ full: PixelSize, atLeast wanted: PixelSize) -> PixelSize {
    var count: Int32 = 0
    guard let factors = tjGetScalingFactors(&count) else { return full }
    return UnsafeBufferPointer(start: factors, count: Int(count))
      .filter { $0.num <= $0.denom }
      .map { factor in
        // The library rounds up.
        PixelSize(
          (full.width * Int(factor.num) + Int(factor.denom) - 1) / Int(factor.denom),
          (full.height * Int(factor.num) + Int(factor.denom) - 1) / Int(factor.denom))
      }
      .filter { $0.width >= wanted.width && $0.height >= wanted.height }
      .min { $0.width < $1.width } ?? full
  }
}
