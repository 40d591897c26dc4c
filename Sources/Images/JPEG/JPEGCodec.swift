import Cjpeg
import Cturbojpeg

enum JPEGDecoder {
  /// The picture as it is stored and at its full size: RGB, or inks. The library's own scaling is not used:
  /// it averages samples and not light.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, _ header: JPEGHeader, _ handle: borrowing TurboHandle,
    _ warnings: JPEGWarnings = .refused
  ) throws(ImageRefusal) -> PixelBuffer {
    let size = PixelSize(header.width, header.height)
    let pixels = try PixelBuffer(size, header.layout)
    let format = header.layout == .inks ? TJPF_CMYK : TJPF_RGB
    let result = tjDecompress2(
      handle.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count),
      pixels.start, numericCast(size.width), 0, numericCast(size.height), numericCast(format.rawValue),
      warnings.flags | TJFLAG_ACCURATEDCT)
    guard handle.succeeded(result, warnings) else { throw handle.refusal }
    return pixels
  }
}

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

/// One libturbojpeg instance. Instances are not shared, so cleaning may run on any number of threads.
struct TurboHandle: ~Copyable {
  enum Purpose { case compress, transform }

  /// Valid as long as this value; never handed on.
  let pointer: tjhandle

  /// A transforming instance decompresses as well.
  init(_ purpose: Purpose) throws(ImageRefusal) {
    let made =
      switch purpose {
      case .compress: tjInitCompress()
      case .transform: tjInitTransform()
      }
    guard let made else { throw .notProcessed("the JPEG library did not start") }
    pointer = made
  }

  deinit { tjDestroy(pointer) }

  /// What the library says of the last failed call, without the name of its function before it.
  var reason: String {
    guard let text = tjGetErrorStr2(pointer) else { return "no reason given" }
    let whole = String(cString: text)
    guard whole.hasPrefix("tj"), let space = whole.firstIndex(of: " ") else { return whole }
    return String(whole[whole.index(after: space)...])
  }

  /// Whether a call read what it was given.
  func succeeded(_ result: Int32, _ warnings: JPEGWarnings) -> Bool {
    result == 0 || (warnings == .harmless && tjGetErrorCode(pointer) == TJERR_WARNING.rawValue)
  }

  /// The refusal that the last failed call amounts to.
  var refusal: ImageRefusal { .jpeg(reason) }
}

extension ImageRefusal {
  /// The kinds of JPEG that the library does not read, by how its words begin.
  private static let unreadJPEGs = [
    ("Unsupported JPEG process", "a JPEG of a process that is not the usual one"),
    ("Unsupported marker type", "a JPEG of a process that is not the usual one"),
    ("Sorry, arithmetic coding", "a JPEG with arithmetic coding"),
    ("Fractional sampling", "a JPEG with a fractional sampling"),
    ("CCIR601 sampling", "a JPEG with CCIR 601 sampling"),
  ]

  /// What the library's words on a JPEG amount to.
  static func jpeg(_ reason: String) -> ImageRefusal {
    if reason.hasPrefix("Premature end") {
      return .truncated(.jpeg, reason: "it ends before the picture does")
    }
    if reason.hasPrefix("Insufficient memory") || reason.contains("Memory allocation failure") {
      return .notProcessed("memory is short")
    }
    if let (_, kind) = unreadJPEGs.first(where: { reason.hasPrefix($0.0) }) {
      return .unsupportedVariant(kind)
    }
    return .damaged(.jpeg, reason: "\"\(reason)\"")
  }
}

extension JPEGWarnings {
  /// The form that libturbojpeg takes.
  var flags: Int32 { TJFLAG_LIMITSCANS | (self == .refused ? TJFLAG_STOPONWARNING : 0) }
}

/// Output that libturbojpeg allocates and lets grow.
struct TurboBuffer: ~Copyable {
  var start: UnsafeMutablePointer<UInt8>?
  var count: UInt = 0

  deinit { tjFree(start) }

  /// The bytes, as memory of our own.
  func copy() -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }
}

/// What becomes of the warnings with which a JPEG is read. libjpeg shows grey or nonsense where a picture lacks
/// something, and calls that a warning too.
enum JPEGWarnings {
  /// Each is a refusal.
  case refused
  /// None counts: all of them were found to be harmless.
  case harmless

  /// So many bytes of any value may stand before a marker at which the decoder restarts: cameras fill up what they
  /// write. So many zeroes more than it passes over may stand there too, those that it reads ahead: where it took more
  /// of them for samples, a part of the picture was overwritten with zeroes.
  private static let mostBytes: Int32 = 16

  /// The words of the first error or warning of a file that costs pixels; nil where it is read to its end without one.
  static func harm(in bytes: UnsafeRawBufferPointer) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(JMSG_LENGTH_MAX)) { words in
      let isWhole = cjpeg_is_whole(
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count),
        { JPEGWarnings.isHarmless($0) },
        words.baseAddress)
      return isWhole ? nil : words.baseAddress.map { String(cString: $0) }
    }
  }

  /// The list of the warnings that cost no pixel. Any other is of data that are missing, too many or impossible.
  private static func isHarmless(_ warning: cjpeg_warning) -> Bool {
    switch J_MESSAGE_CODE(rawValue: UInt32(truncatingIfNeeded: warning.code)) {
    // A JFIF header of a revision to come, and a baseline scan that says zero where there is but one choice.
    case JWRN_JFIF_MAJOR, JWRN_NOT_SEQUENTIAL: true
    case JWRN_EXTRANEOUS_DATA:
      // Between the segments before the picture; zeroes before any marker, as video frames are filled up with; and a
      // few bytes where the decoder restarts, since what came before was read whole. More are what is left over where
      // samples were read wrongly.
      warning.scans == 0 || (0...mostBytes).contains(warning.zeroes - warning.discarded)
        || (warning.restarts > 0 && warning.discarded <= mostBytes)
    default: false
    }
  }
}

/// Turns a JPEG upright without decoding it to pixels, and copies no marker. The whole stream is read
/// on the way, so a picture that needs no turn goes through it too.
enum LosslessTurn {
  /// How the turned picture is written. Neither changes a pixel.
  enum Packing {
    /// In one go, with the tables of the standard: the fastest to read.
    case plain
    /// Progressive, with tables made for the picture: a tenth smaller or so.
    case small
  }

  static func turn(
    _ bytes: UnsafeRawBufferPointer, _ orientation: Orientation, _ handle: borrowing TurboHandle,
    _ packing: Packing = .plain, _ warnings: JPEGWarnings = .refused
  ) throws(ImageRefusal) -> [UInt8] {
    var transform = tjtransform()
    transform.op = numericCast(operation(orientation).rawValue)
    transform.options = TJXOPT_PERFECT | TJXOPT_COPYNONE | (packing == .small ? TJXOPT_PROGRESSIVE : 0)
    transform.customFilter = { row, region, _, _, _, _ in
      guard let row else { return -1 }
      return LosslessTurn.holdsPossibleValues(row, count: Int(region.w) * Int(region.h)) ? 0 : -1
    }
    var output = TurboBuffer()
    let result = tjTransform(
      handle.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count), 1,
      &output.start, &output.count, &transform, warnings.flags)
    guard handle.succeeded(result, warnings) else { throw handle.refusal }
    var turned = output.copy()
    normaliseHeader(&turned)
    return turned
  }

  /// The library copies version and density from the submitted picture. A density that differs between the
  /// axes makes some readers stretch the picture, so it is replaced by what an encoded picture has: none.
  private static func normaliseHeader(_ jpeg: inout [UInt8]) {
    let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8)
    guard jpeg.count >= 20, jpeg.starts(with: start) else { return }
    // Version 1.1, no unit, one to one.
    jpeg.replaceSubrange(start.count..<start.count + 7, with: [1, 1, 0, 0, 1, 0, 1])
  }

  /// Whether a row of blocks holds only values that 8-bit pictures can have: 10 bits and a sign, and for
  /// the first value of a block, its mean, one value more. A damaged stream can hold others without a
  /// warning; they have no code in the tables that the turned picture is written with, and the library
  /// would write nonsense in their place.
  static func holdsPossibleValues(_ row: UnsafePointer<Int16>, count: Int) -> Bool {
    var least: Int16 = 0
    var greatest: Int16 = 0
    for block in stride(from: 0, to: count, by: 64) {
      let mean = row[block]
      guard mean >= -1_024 else { return false }
      greatest = max(greatest, mean)
      for index in block + 1..<block + 64 {
        least = min(least, row[index])
        greatest = max(greatest, row[index])
      }
    }
    return least >= -1_023 && greatest <= 1_023
  }

  private static func operation(_ orientation: Orientation) -> TJXOP {
    switch orientation {
    case .upright: TJXOP_NONE
    case .mirror: TJXOP_HFLIP
    case .halfTurn: TJXOP_ROT180
    case .flip: TJXOP_VFLIP
    case .transpose: TJXOP_TRANSPOSE
    case .quarterTurnRight: TJXOP_ROT90
    case .transverse: TJXOP_TRANSVERSE
    case .quarterTurnLeft: TJXOP_ROT270
    }
  }
}
