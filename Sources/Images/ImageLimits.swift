public import Support

/// What a submitted picture may be, and what a cleaned one will be.
public struct ImageLimits: Sendable, Hashable {
  /// The most bytes a submitted file may have: 10 MB, that is 10,000,000, by default.
  public var maxBytes: Int
  /// The most pixels a submitted picture may have: by default those of 8,192 by 8,192, which no phone's 64 megapixels
  /// exceed. Checked from the header, before any memory is taken for the picture. Cleaning takes up to 13 bytes a
  /// pixel for a moment.
  var maxPixels: Int
  /// The most bytes a cleaned picture will have; by default what the usual rules say.
  var maxOutputBytes: Int
  /// The most pixels of a cleaned picture's longer side, or nil for as many as it came with.
  public var maxDimension: Int?
  /// The most pixels of a cleaned picture's shorter side, or nil for as many as it came with.
  public var minSide: Int?
  /// Whether a PNG that needs nothing stays one; else it becomes a JPEG like any other.
  var keepsPNG: Bool

  /// Makes limits; every value left out is the default that its property names.
  public init(
    maxBytes: Int = ImageSize.maximum, maxPixels: Int = 8_192 * 8_192,
    maxOutputBytes: Int = ImageRules.usual.maxBytes, maxDimension: Int? = nil, minSide: Int? = nil,
    keepsPNG: Bool = ImageRules.usual.keepsPNG
  ) {
    self.maxBytes = maxBytes
    self.maxPixels = maxPixels
    self.maxOutputBytes = maxOutputBytes
    self.maxDimension = maxDimension
    self.minSide = minSide
    self.keepsPNG = keepsPNG
  }

  /// These limits, with what a type's rules say of the clean picture.
  public func following(_ rules: ImageRules) -> ImageLimits {
    var limits = self
    limits.maxOutputBytes = rules.maxBytes
    limits.keepsPNG = rules.keepsPNG
    return limits
  }

  /// The side in pixels that the endpoint's models see a picture with. A picture whose shorter side is below it
  /// is enlarged again there, which changes diagnoses.
  public static let modelSide = 224

  /// The longest side that libturbojpeg reads and writes.
  static let longestSide = 65_500
  /// The most scans of a JPEG, and the most pixels that all its scans may go over: each scan costs as much as
  /// decoding the picture, and takes but a few bytes of the file.
  static let maxScans = 100
  static let maxScannedPixels = 700_000_000

  // MARK: - Rules

  /// The size that a picture of this size is scaled down to.
  func allowed(_ size: PixelSize) -> PixelSize {
    let byLonger = maxDimension.map { Double($0) / Double(size.longestSide) } ?? 1
    let byShorter = minSide.map { Double($0) / Double(size.shortestSide) } ?? 1
    let factor = min(byLonger, byShorter)
    return factor < 1 ? size.scaled(by: max(factor, 0)) : size
  }

  /// Refuses a picture with too many pixels or too long a side.
  func check(_ size: PixelSize) throws(ImageRefusal) {
    guard size.pixels <= maxPixels else {
      throw .tooManyPixels(width: size.width, height: size.height, limit: maxPixels)
    }
    guard size.longestSide <= Self.longestSide else {
      throw .sideTooLong(width: size.width, height: size.height)
    }
  }

  /// Refuses a JPEG that would keep the decoder busy for too long.
  func check(_ size: PixelSize, scans: Int) throws(ImageRefusal) {
    guard scans <= Self.maxScans, scans * size.pixels <= Self.maxScannedPixels else {
      throw .unsupportedVariant("a JPEG of \(size.width) by \(size.height) pixels in \(scans) scans")
    }
  }
}

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

extension ImageCleaner {
  /// About how much work it is to clean a file: the pixels of the picture, times how often a decoder goes over them. Of
  /// what is refused at once it is little.
  public static func cost(of file: [UInt8]) -> Int {
    file.withUnsafeBytes { bytes in
      switch ImageFormat(bytes) {
      case .jpeg:
        let structure = JPEGStructure(bytes)
        return (structure.size?.pixels ?? 0) * structure.scans
      case .png: return (try? PNGStructure(header: bytes))?.size.pixels ?? 0
      case nil: return 0
      }
    }
  }
}
