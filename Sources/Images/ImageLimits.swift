public import AnalysisCore

/// What a submitted picture may be, and what a cleaned one will be.
public struct ImageLimits: Sendable, Hashable {
  /// The most bytes a submitted file may have: 10 MB, that is 10,000,000, by default.
  public var maxBytes: Int
  /// The most pixels a submitted picture may have: 50 megapixels by default. Checked from the header,
  /// before any memory is taken for the picture. Cleaning takes up to 13 bytes a pixel for a moment
  /// (measured: 614 MB for 48 megapixels without subsampling, turned).
  public var maxPixels: Int
  /// The most bytes a cleaned picture will have. The analysis backend's API refuses 5,242,880 bytes
  /// and more, so one less by default.
  public var maxOutputBytes: Int
  /// The longest side of a cleaned picture in pixels, or nil for as large as it came.
  public var maxDimension: Int?
  /// JPEG quality, 1 to 100, of pictures that are scaled down: 80 by default, as the analysis
  /// backend's API advises.
  public var jpegQuality: Int
  /// JPEG quality, 1 to 100, of pictures that keep their size but must be encoded anew (PNG, CMYK, a
  /// turn that cannot be lossless), where nothing may be seen to be lost.
  public var fullSizeQuality: Int

  /// Makes limits; every value left out is the default that its property names.
  public init(
    maxBytes: Int = ImageSize.maximum, maxPixels: Int = 50_000_000, maxOutputBytes: Int = 5_242_879,
    maxDimension: Int? = nil, jpegQuality: Int = 80, fullSizeQuality: Int = 92
  ) {
    self.maxBytes = maxBytes
    self.maxPixels = maxPixels
    self.maxOutputBytes = maxOutputBytes
    self.maxDimension = maxDimension
    self.jpegQuality = min(max(jpegQuality, 1), 100)
    self.fullSizeQuality = min(max(fullSizeQuality, 1), 100)
  }
}
