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

  /// The format that the bytes begin like, or nil.
  static func detect(_ bytes: UnsafeRawBufferPointer) -> SourceFormat? {
    // SOI and the first byte of the next marker. `FF D8 FF` alone is what every reader asks for.
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
    if bytes.starts(with: PNGStructure.signature) { return .png }
    return nil
  }
}
