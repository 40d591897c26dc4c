/// What a request carries.
public enum Body: Sendable {
  /// Nothing.
  case none
  /// Bytes of one content type.
  case bytes(any BodyBytes, contentType: String)
  /// Form fields and files.
  case multipart(Multipart)
}
