import System

/// Decides whether a submitted file may enter, and makes of it an upright JPEG without metadata.
///
/// Cleaning is work for the processor and takes milliseconds to a second: call it from a thread that
/// may be kept busy. One cleaner serves any number of threads at once.
public struct ImageCleaner: Sendable {
  /// The limits that files are held to.
  public let limits: ImageLimits

  /// A cleaner with the given limits.
  public init(limits: ImageLimits = ImageLimits()) {
    self.limits = limits
  }

  /// Cleans a file's bytes. Throws the refusal if they are not a whole, sound JPEG or PNG within the
  /// limits; the file's name plays no part.
  public func clean(_ bytes: [UInt8]) throws(ImageRefusal) -> CleanImage {
    try bytes.withUnsafeBytes { file in
      Result { () throws(ImageRefusal) -> CleanImage in try clean(file) }
    }.get()
  }

  /// Cleans a file's bytes, which must not change meanwhile. Throws the refusal if they are not a whole,
  /// sound JPEG or PNG within the limits; the file's name plays no part.
  public func clean(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    guard !bytes.isEmpty else { throw .empty }
    guard bytes.count <= limits.maxBytes else {
      throw .fileTooLarge(bytes: bytes.count, limit: limits.maxBytes)
    }
    switch SourceFormat.detect(bytes) {
    case .jpeg: return try cleanJPEG(bytes)
    case .png: return try cleanPNG(bytes)
    case nil:
      if let foreign = ForeignFormat.detect(bytes) { throw .unsupported(foreign) }
      throw .unknownFormat
    }
  }
}

extension CleanImage {
  /// A picture of the given size that was encoded anew.
  init(
    _ fitted: OutputFitter.Fitted, _ source: SourceFormat, _ orientation: Orientation, of size: PixelSize,
    converted: Bool, removed: Int
  ) {
    self.init(
      bytes: fitted.bytes, size: fitted.size, source: source,
      changes: Changes(
        orientation: orientation.rawValue, reencoded: true, converted: converted,
        scaled: fitted.size != size.exchanged(orientation.exchangesSides), metadataBytesRemoved: removed))
  }

  init(bytes: [UInt8], size: PixelSize, source: SourceFormat, changes: Changes) {
    self.bytes = bytes
    width = size.width
    height = size.height
    sha256 = SHA256.digest(of: bytes)
    self.source = source
    self.changes = changes
  }
}
