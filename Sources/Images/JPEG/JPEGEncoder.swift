import Cturbojpeg

/// Encodes RGB as a baseline JPEG with a JFIF header and no other segment.
enum JPEGEncoder {
  static func encode(
    _ pixels: borrowing PixelBuffer, quality: Int, _ subsampling: Subsampling
  ) throws(ImageRefusal) -> [UInt8] {
    let handle = try TurboHandle(.compress)
    var output = TurboBuffer()
    let result = tjCompress2(
      handle.pointer, pixels.start, numericCast(pixels.size.width), 0,
      numericCast(pixels.size.height), numericCast(TJPF_RGB.rawValue), &output.start, &output.count,
      subsampling.rawValue, numericCast(quality), TJFLAG_ACCURATEDCT)
    guard result == 0 else { throw .notProcessed("\"\(handle.reason)\"") }
    return output.copy()
  }
}
