/// A file that is on disk whole.
public struct WrittenFile: Sendable, Equatable {
  /// Where it is.
  public let path: String
  /// How long it is.
  public let byteCount: Int
  /// SHA-256 of its bytes, in lower-case hexadecimal.
  public let sha256: String
}
