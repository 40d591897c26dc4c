public import Support

/// What went wrong with a key, its file or an encrypted image. It holds neither a key nor a byte of an image.
public struct ImageEncryptionError: Error, Sendable, Equatable {
  /// What kind of failure it is; more may come.
  public struct Code: Sendable, Hashable {
    private enum Kind { case unavailable, file, syntax, noKey, inUse, tampered }
    private let kind: Kind

    /// This system cannot encrypt at all.
    public static let unavailable = Code(kind: .unavailable)
    /// The key file cannot be read or written; the underlying error says why.
    public static let file = Code(kind: .file)
    /// The key file's content is not what it should be.
    public static let syntax = Code(kind: .syntax)
    /// The key file has no key of that number.
    public static let noKey = Code(kind: .noKey)
    /// The key may not go.
    public static let inUse = Code(kind: .inUse)
    /// Under the right key an image or its own key is not what was encrypted, or not of that user.
    public static let tampered = Code(kind: .tampered)
  }

  /// What kind of failure it is.
  public let code: Code
  /// What happened; one sentence.
  public let message: String
  /// What to do about it; nil when there is nothing to say.
  public let advice: String?
  /// What the system said of the file; nil when it was not that.
  public let underlying: SystemError?

  init(_ code: Code, _ message: String, advice: String? = nil, underlying: SystemError? = nil) {
    self.code = code
    self.message = message
    self.advice = advice
    self.underlying = underlying
  }

  /// A file that could not be read or written.
  init(_ error: SystemError) {
    self.init(.file, "The key file: \(error)", underlying: error)
  }
}

extension ImageEncryptionError: CustomStringConvertible {
  /// The message and the advice.
  public var description: String { advice.map { "\(message) \($0)" } ?? message }
}
