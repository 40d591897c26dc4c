import Cturbojpeg

/// Reads the colours of a JPEG at a fraction of its size.
enum PictureDecoder {
  /// Larger pictures are refused, whatever their file's size.
  static let maximumPixels = 50_000_000

  /// Statistics of the picture, or nil if the bytes are no whole JPEG of at most 50 megapixels.
  static func statistics(jpeg: UnsafeBufferPointer<UInt8>) -> ColourStatistics? {
    guard let base = jpeg.baseAddress, let decoder = tjInitDecompress() else { return nil }
    defer { tjDestroy(decoder) }
    var (width, height, subsampling, space): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    let size = UInt(jpeg.count)
    guard tjDecompressHeader3(decoder, base, size, &width, &height, &subsampling, &space) == 0,
      width > 0, height > 0, Int(width) * Int(height) <= maximumPixels
    else { return nil }
    let divisor = divisor(width: Int(width), height: Int(height))
    let (columns, rows) = ((Int(width) + divisor - 1) / divisor, (Int(height) + divisor - 1) / divisor)
    let pixels = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: columns * rows * 3)
    defer { pixels.deallocate() }
    // A warning, such as a picture cut short, is a failure as well.
    guard
      tjDecompress2(
        decoder, base, size, pixels.baseAddress, Int32(columns), 0, Int32(rows), Int32(TJPF_RGB.rawValue),
        Int32(TJFLAG_FASTDCT | TJFLAG_FASTUPSAMPLE)) == 0
    else { return nil }
    return ColourStatistics(rgb: UnsafeBufferPointer(pixels))
  }

  /// The largest divisor the decoder offers that leaves 16 pixels or more on the shorter side.
  static func divisor(width: Int, height: Int) -> Int {
    [8, 4, 2].first { min(width, height) / $0 >= 16 } ?? 1
  }
}
