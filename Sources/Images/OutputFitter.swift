/// Encodes a picture so that it stays within the limit of what goes out, and loses as little as possible.
struct OutputFitter {
  /// The quality that a picture is written with where it fits. At 98 no diagnosis of the real pictures that were
  /// tried changed; at 92 three of 24 did.
  static let best = 98
  /// The lowest quality; below it the picture is made smaller instead.
  static let least = 80

  let limits: ImageLimits

  /// A picture within the limits.
  struct Fitted {
    let bytes: [UInt8]
    let size: PixelSize
  }

  /// Encodes at the best quality if that fits, else at the highest that does; then with coarser colour, and
  /// then smaller and smaller. Each smaller picture is scaled from the given one itself and aims a little below the
  /// limit by what the last one came to.
  func encode(
    _ pixels: consuming PixelBuffer, _ subsampling: Subsampling
  ) throws(ImageRefusal) -> Fitted {
    let bytes = try JPEGEncoder.encode(pixels, quality: Self.best, subsampling)
    if fits(bytes) { return Fitted(bytes: bytes, size: pixels.size) }
    let coarse = subsampling == .grey ? Subsampling.grey : .halfBoth
    for subsampling in subsampling == coarse ? [coarse] : [subsampling, coarse] {
      if let bytes = try highestQuality(pixels, subsampling) {
        return Fitted(bytes: bytes, size: pixels.size)
      }
    }
    var smallest = try JPEGEncoder.encode(pixels, quality: Self.least, coarse)
    var size = pixels.size
    while !fits(smallest) {
      guard let smaller = nextSize(after: size, bytes: smallest.count, of: pixels.size) else {
        throw .cannotFit(limit: limits.maxOutputBytes)
      }
      size = smaller
      smallest = try JPEGEncoder.encode(try pixels.scaled(to: size), quality: Self.least, coarse)
    }
    return Fitted(bytes: smallest, size: size)
  }

  private func fits(_ bytes: [UInt8]) -> Bool { bytes.count <= limits.maxOutputBytes }

  /// The picture at the highest quality below the best that fits, or nil if none does. Halving the 18 that there
  /// are takes five encodings, so that with the best one no more than six are made.
  private func highestQuality(
    _ pixels: borrowing PixelBuffer, _ subsampling: Subsampling
  ) throws(ImageRefusal) -> [UInt8]? {
    var (low, high) = (Self.least, Self.best - 1)
    var found: [UInt8]?
    while low <= high {
      let quality = (low + high) / 2
      let bytes = try JPEGEncoder.encode(pixels, quality: quality, subsampling)
      if fits(bytes) {
        found = bytes
        low = quality + 1
      } else {
        high = quality - 1
      }
    }
    return found
  }

  /// The size to try after one that came to too many bytes, or nil if there is none smaller. Bytes go
  /// roughly with the area, the header aside; a step takes at least a tenth off a side and at most
  /// three quarters.
  private func nextSize(after size: PixelSize, bytes: Int, of full: PixelSize) -> PixelSize? {
    guard size.longestSide > 1 else { return nil }
    let share = (Double(max(limits.maxOutputBytes, 0)) / Double(bytes)).squareRoot() * 0.97
    let side = Int(Double(size.longestSide) * min(max(share, 0.25), 0.9))
    return full.scaled(by: Double(max(side, 1)) / Double(full.longestSide))
  }
}
