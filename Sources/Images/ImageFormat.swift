/// A format of pictures that is accepted and sent, told by the first bytes and never by a name.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable {
  /// JPEG, also as the first picture of a multi-picture file (MPO).
  case jpeg
  case png

  /// The format that the bytes begin like, or nil.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    // SOI and the first byte of the next marker. `FF D8 FF` alone is what every reader asks for.
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if bytes.starts(with: PNGStructure.signature) {
      self = .png
    } else {
      return nil
    }
  }

  /// The name for people: `JPEG` or `PNG`.
  public var name: String {
    switch self {
    case .jpeg: "JPEG"
    case .png: "PNG"
    }
  }

  /// The name in a form that is sent: `image/jpeg` or `image/png`.
  public var contentType: String { "image/\(rawValue)" }

  /// What follows the dot in a file's name: `jpg` or `png`.
  public var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .png: "png"
    }
  }
}
