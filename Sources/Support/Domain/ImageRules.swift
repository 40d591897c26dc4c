/// What is sent of the images of one type: the settings `image_bytes_…` and `png_as_is_…` of the database.
public struct ImageRules: Sendable, Hashable {
  /// As long as nobody changes the settings. The endpoint's API refuses 5,242,880 bytes and more.
  public static let usual = ImageRules(maxBytes: 5_242_879, keepsPNG: false)

  /// The most bytes of an image that is sent.
  public let maxBytes: Int
  /// Whether a PNG that needs nothing stays one.
  public let keepsPNG: Bool

  /// Rules with their values.
  public init(maxBytes: Int, keepsPNG: Bool) {
    self.maxBytes = maxBytes
    self.keepsPNG = keepsPNG
  }
}
