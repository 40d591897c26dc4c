internal import Support

/// A picture that may be stored and sent on: an upright JPEG, or a PNG where that is kept, with nothing in it but the
/// picture.
public struct CleanImage: Sendable, Equatable {
  /// The file. A JPEG's only application segment is the JFIF header, and a PNG has the chunks alone without which it
  /// cannot be decoded; nothing follows its end.
  public let bytes: [UInt8]
  /// Width of the upright picture in pixels.
  public let width: Int
  /// Height of the upright picture in pixels.
  public let height: Int
  /// The format the submitted file really had.
  public let source: ImageFormat
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
    let orientation: Int
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
