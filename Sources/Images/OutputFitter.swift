/// Encodes a picture so that it stays within the limits of what goes out.
struct OutputFitter {
  let limits: ImageLimits

  /// A picture within the limits, and whether it was scaled for that.
  struct Fitted {
    let bytes: [UInt8]
    let size: PixelSize
    let scaled: Bool
  }

  /// The longest side that the limits let a picture of this size have.
  func allowed(_ size: PixelSize) -> PixelSize {
    guard let longest = limits.maxDimension, longest < size.longestSide else { return size }
    return size.scaled(longestSide: longest)
  }

  /// Encodes at full quality first, then at the ordinary one, then smaller and smaller. Each step scales
  /// the given picture itself and aims a little below the limit by what the last one came to.
  func encode(
    _ pixels: borrowing PixelBuffer, scaled: Bool, _ subsampling: Subsampling
  ) throws(ImageRefusal) -> Fitted {
    if !scaled {
      let bytes = try JPEGEncoder.encode(pixels, quality: limits.fullSizeQuality, subsampling)
      if bytes.count <= limits.maxOutputBytes {
        return Fitted(bytes: bytes, size: pixels.size, scaled: false)
      }
    }
    let coarse = subsampling == .grey ? Subsampling.grey : .halfBoth
    var bytes = try JPEGEncoder.encode(pixels, quality: limits.jpegQuality, coarse)
    var size = pixels.size
    while bytes.count > limits.maxOutputBytes {
      guard let smaller = nextSize(after: size, bytes: bytes.count, of: pixels.size) else {
        throw .cannotFit(limit: limits.maxOutputBytes)
      }
      size = smaller
      let reduced = try pixels.scaled(to: size)
      bytes = try JPEGEncoder.encode(reduced, quality: limits.jpegQuality, coarse)
    }
    return Fitted(bytes: bytes, size: size, scaled: scaled || size != pixels.size)
  }

  /// The size to try after one that came to too many bytes, or nil if there is none smaller. Bytes go
  /// roughly with the area, the header aside; a step takes at least a tenth off a side and at most
  /// three quarters.
  private func nextSize(after size: PixelSize, bytes: Int, of full: PixelSize) -> PixelSize? {
    guard size.longestSide > 1 else { return nil }
    let share = (Double(max(limits.maxOutputBytes, 0)) / Double(bytes)).squareRoot() * 0.97
    let side = Int(Double(size.longestSide) * min(max(share, 0.25), 0.9))
    return full.scaled(longestSide: max(side, 1))
  }
}
