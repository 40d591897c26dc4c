internal import System

/// A picture that may be stored and sent on: an upright JPEG with nothing in it but the picture.
public struct CleanImage: Sendable, Equatable {
  /// The JPEG. Its only application segment is the JFIF header; nothing follows its end marker.
  public let bytes: [UInt8]
  /// Width of the upright picture in pixels.
  public let width: Int
  /// Height of the upright picture in pixels.
  public let height: Int
  /// The format the submitted file really had.
  public let source: SourceFormat
  /// What was done to the submitted picture.
  public let changes: Changes

  /// SHA-256 of `bytes`, 32 bytes: what the picture is known by. Computed each time.
  public var sha256: [UInt8] { SHA256.digest(of: bytes) }

  /// Whether it was scaled to fewer pixels on the shorter side than the endpoint's models see.
  public var isBelowModelSide: Bool { changes.scaled && min(width, height) < ImageLimits.modelSide }
}

extension CleanImage {
  /// What cleaning did.
  public struct Changes: Sendable, Hashable {
    /// The EXIF orientation, 1 to 8, that the submitted picture was turned upright from; 1 is no turn.
    public let orientation: Int
    /// Whether the pixels were decoded and encoded anew. If false, the picture is the submitted one
    /// without loss.
    public let reencoded: Bool
    /// Whether the colours were converted to sRGB from a profile that is not.
    public let converted: Bool
    /// Whether the picture has fewer pixels than the submitted one.
    public let scaled: Bool
    /// Bytes of metadata (EXIF, XMP, IPTC, colour profiles, comments and all other application
    /// segments or ancillary chunks) and after the picture's end that were left behind.
    public let metadataBytesRemoved: Int

    /// Whether the picture was turned.
    public var turned: Bool { orientation != 1 }
  }
}

/// A format that is accepted, told by the file's first bytes and never by its name.
public enum SourceFormat: String, Sendable, Hashable, CaseIterable {
  /// JPEG, also as the first picture of a multi-picture file (MPO).
  case jpeg
  /// PNG.
  case png

  /// The name for people: `JPEG` or `PNG`.
  public var name: String {
    switch self {
    case .jpeg: "JPEG"
    case .png: "PNG"
    }
  }

  /// SOI and the first byte of the next marker. Every reader asks for these three.
  static let jpegStart: [UInt8] = [0xFF, 0xD8, 0xFF]

  /// The format that the bytes begin like, or nil.
  static func detect(_ bytes: UnsafeRawBufferPointer) -> SourceFormat? {
    if bytes.starts(with: jpegStart) { return .jpeg }
    if bytes.starts(with: PNGStructure.signature) { return .png }
    return nil
  }
}
