/// How many bytes an image may have. The same as `analysis.max_image_bytes` in the database.
public enum ImageSize {
  /// The most bytes of a file before it is cleaned: 10 MB.
  public static let maximum = 10_000_000
  /// The most bytes of an encrypted image.
  static let encryptedMaximum = maximum + 512
}
