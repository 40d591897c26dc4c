/// Width and height of a picture in pixels.
struct PixelSize: Equatable {
  let width: Int
  let height: Int

  init(_ width: Int, _ height: Int) {
    self.width = width
    self.height = height
  }

  var longestSide: Int { max(width, height) }
  var shortestSide: Int { min(width, height) }
  /// The number of pixels; the greatest integer where it would overflow.
  var pixels: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }

  /// The size in the same proportions; no side is below 1.
  func scaled(by factor: Double) -> PixelSize {
    PixelSize(
      max(Int((Double(width) * factor).rounded()), 1), max(Int((Double(height) * factor).rounded()), 1))
  }

  /// Width and height exchanged, if asked.
  func exchanged(_ exchange: Bool) -> PixelSize {
    exchange ? PixelSize(height, width) : self
  }
}
