import Cturbojpeg

/// What a JPEG says of itself before its first scan.
struct JPEGHeader {
  let width: Int
  let height: Int
  let colours: Colours
  /// nil for a sampling that libturbojpeg has no number for; such a picture can be decoded only.
  let subsampling: Subsampling?

  /// How samples stand for colours.
  enum Colours {
    /// The ordinary kind: luminance and colour differences.
    case yCbCr
    case grey
    /// RGB without conversion. It needs an Adobe segment to be understood.
    case rgb
    /// Inks, as CMYK or YCCK. Likewise.
    case inks
  }

  /// How the decoded samples lie.
  var layout: PixelLayout { colours == .inks ? .inks : .rgb }

  /// Whether the picture can be turned upright block by block, without loss, and be understood without
  /// any application segment afterwards. Grey pictures stay grey: every JPEG reader shows them, and
  /// nothing is lost.
  func canBeTurnedWithoutLoss(_ orientation: Orientation) -> Bool {
    guard colours == .yCbCr || colours == .grey, let subsampling else { return false }
    // 4:1:1 on its side is a sampling that hardly any reader has met.
    guard !(subsampling == .quarterAcross && orientation.exchangesSides) else { return false }
    return !(orientation.needsWholeBlocksAcross && width % subsampling.blockWidth != 0)
      && !(orientation.needsWholeBlocksDown && height % subsampling.blockHeight != 0)
  }
}

extension JPEGHeader {
  /// Reads the header, or throws the refusal that it amounts to.
  init(
    _ bytes: UnsafeRawBufferPointer, _ handle: borrowing TurboHandle, _ warnings: JPEGWarnings = .refused
  ) throws(ImageRefusal) {
    var width: Int32 = 0
    var height: Int32 = 0
    var sampling: Int32 = -1
    var colourSpace: Int32 = -1
    let result = tjDecompressHeader3(
      handle.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count), &width,
      &height, &sampling, &colourSpace)
    // Everything else was read if the sampling alone has no name.
    let onlySamplingIsUnknown =
      tjGetErrorCode(handle.pointer) == TJERR_FATAL.rawValue && width > 0 && height > 0 && sampling < 0
      && colourSpace >= 0
    guard handle.succeeded(result, warnings) || onlySamplingIsUnknown else { throw handle.refusal }
    // A file that ends before its frame passes for one with tables alone, which is no error there.
    guard width > 0, height > 0 else {
      throw .truncated(.jpeg, reason: "it ends before the picture begins")
    }
    self.width = Int(width)
    self.height = Int(height)
    subsampling = Subsampling(rawValue: sampling)
    switch colourSpace {
    case numericCast(TJCS_YCbCr.rawValue): colours = .yCbCr
    case numericCast(TJCS_GRAY.rawValue): colours = .grey
    case numericCast(TJCS_RGB.rawValue): colours = .rgb
    default: colours = .inks
    }
  }
}

/// How much coarser colour is stored than brightness; the numbers are libturbojpeg's.
enum Subsampling: Int32 {
  case none = 0  // 4:4:4
  case halfAcross = 1  // 4:2:2
  case halfBoth = 2  // 4:2:0
  case grey = 3
  case halfDown = 4  // 4:4:0
  case quarterAcross = 5  // 4:1:1

  /// Width in pixels of the blocks that a lossless turn moves.
  var blockWidth: Int {
    switch self {
    case .none, .grey, .halfDown: 8
    case .halfAcross, .halfBoth: 16
    case .quarterAcross: 32
    }
  }

  /// Height in pixels of the blocks that a lossless turn moves.
  var blockHeight: Int {
    switch self {
    case .none, .grey, .halfAcross, .quarterAcross: 8
    case .halfBoth, .halfDown: 16
    }
  }
}
