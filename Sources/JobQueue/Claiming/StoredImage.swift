public import PostgreSQL

/// An image as the database holds it.
public struct StoredImage: Sendable {
  /// The image, inside the answer that brought it: the bytes are not copied.
  public let bytes: Blob
  /// What tells one image from another: the first 16 hexadecimal digits of its SHA-256.
  public let mark: String

  /// An image with its mark.
  public init(bytes: Blob, mark: String) {
    self.bytes = bytes
    self.mark = mark
  }
}
