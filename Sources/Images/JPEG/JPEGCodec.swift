import Cturbojpeg

/// Decodes a JPEG.
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
