import Cturbojpeg

/// The segments of a JPEG, walked without decoding: where the metadata is and where the picture ends.
/// It judges nothing; whether the stream is sound is libturbojpeg's to say.
struct JPEGStructure {
  /// The EXIF blocks before the first scan, as exiftool reads them: their offsets in the file.
  private(set) var exif: [Range<Int>] = []
  /// The parts of the colour profile before the first scan.
  private(set) var profile = JPEGProfileParts()
  /// The number of the frame header's marker, `0xC0` for a baseline picture.
  private(set) var frameMarker: UInt8?
  /// Bits a sample, from the frame header.
  private(set) var precision = 8
  /// How many kinds of samples a pixel has, from the frame header.
  private(set) var components: Int?
  /// Width and height, from the frame header.
  private(set) var size: PixelSize?
  /// How often the decoder goes over the picture.
  private(set) var scans = 0
  /// Bytes of application and comment segments but the JFIF header, their markers included.
  private(set) var metadataBytes = 0
  /// The offset behind the end marker, or nil if there is none.
  private(set) var end: Int?

  init(_ bytes: UnsafeRawBufferPointer) {
    var position = 2  // behind SOI
    while let marker = Self.nextMarker(in: bytes, at: &position) {
      switch marker {
      case 0xD9:
        end = position
        return
      case 0x01, 0xD0...0xD8:
        continue  // markers without content
      default:
        guard position + 2 <= bytes.count else { return }
        let length = Int(bytes[position]) << 8 | Int(bytes[position + 1])
        guard length >= 2, position + length <= bytes.count else { return }
        note(marker, bytes, content: position + 2..<position + length)
        position += length
      }
    }
  }

  private mutating func note(_ marker: UInt8, _ bytes: UnsafeRawBufferPointer, content: Range<Int>) {
    switch marker {
    case 0xDA:
      scans += 1
    case 0xE0 where content.count == 14 && bytes[content].starts(with: [0x4A, 0x46, 0x49, 0x46, 0]):
      break  // a JFIF header without a preview, such as every clean picture has as well
    case 0xE0...0xEF, 0xFE:
      metadataBytes += content.count + 4
      if scans == 0 { noteMetadata(marker, bytes, content) }
    case 0xC0...0xCF where [0xC4, 0xC8, 0xCC].contains(marker): break
    // Those of hierarchical pictures begin with one that describes all of them (DHP); 0xF7 is JPEG-LS.
    case 0xC0...0xCF where frameMarker == nil, 0xDE where frameMarker == nil, 0xF7 where frameMarker == nil:
      frameMarker = marker
      guard content.count >= 5 else { return }
      let header = bytes[content].prefix(6).map(Int.init)
      precision = header[0]
      size = PixelSize(header[3] << 8 | header[4], header[1] << 8 | header[2])
      components = header.count > 5 ? header[5] : nil
    default:
      break
    }
  }

  private mutating func noteMetadata(
    _ marker: UInt8, _ bytes: UnsafeRawBufferPointer, _ content: Range<Int>
  ) {
    if marker == 0xE1, bytes[content].starts(with: [0x45, 0x78, 0x69, 0x66, 0, 0]) { exif.append(content) }
    if marker == 0xE2 { profile.note(bytes, content) }
  }

  /// Goes on to the next marker, over entropy-coded data, stuffed zeroes and fill bytes, and leaves the
  /// position behind it.
  private static func nextMarker(in bytes: UnsafeRawBufferPointer, at position: inout Int) -> UInt8? {
    while position + 1 < bytes.count {
      if bytes[position] == 0xFF, bytes[position + 1] != 0x00, bytes[position + 1] != 0xFF {
        position += 2
        return bytes[position - 1]
      }
      position += 1
    }
    return nil
  }
}

/// The ICC profile of a JPEG: one segment of at most 64 KiB, or several, each with its number and how many
/// there are.
struct JPEGProfileParts {
  private static let mark = Array("ICC_PROFILE\0".utf8)

  /// Number, count, and offsets of the profile's bytes in the file, for each segment.
  private var parts: [(number: Int, count: Int, bytes: Range<Int>)] = []

  /// Notes an APP2 segment, if it holds a part of a profile.
  mutating func note(_ bytes: UnsafeRawBufferPointer, _ content: Range<Int>) {
    guard bytes[content].starts(with: Self.mark) else { return }
    let numbers = content.lowerBound + Self.mark.count
    guard numbers + 2 <= content.upperBound else { return parts.append((0, 0, content)) }
    parts.append((Int(bytes[numbers]), Int(bytes[numbers + 1]), numbers + 2..<content.upperBound))
  }

  /// The whole profile, nil if there is none. The parts may come in any order, but each once.
  func profile(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> [UInt8]? {
    guard !parts.isEmpty else { return nil }
    let sorted = parts.sorted { $0.number < $1.number }
    for (index, part) in sorted.enumerated() where part.number != index + 1 || part.count != sorted.count {
      throw .colourProfile("parts of its colour profile are missing or there twice")
    }
    guard sorted.reduce(0, { $0 + $1.bytes.count }) <= ColourProfile.maxBytes else {
      throw ColourProfile.tooLarge
    }
    return sorted.flatMap { bytes[$0.bytes] }
  }
}

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
