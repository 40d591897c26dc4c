public import Support

/// What encrypted bytes belong to. Both encryptions, of the bytes and of their own key, are made with it as associated
/// data, so that neither opens as anything else.
protocol EncryptionBinding: Sendable {
  /// What the bytes are bound to.
  var ofBytes: [UInt8] { get }
  /// What their own key is bound to.
  var ofKey: [UInt8] { get }
}

extension EncryptionBinding {
  /// Each part after its length, so that no two bindings look alike; the first is a label, which says what kind of
  /// encryption it is and of which version.
  static func context(_ parts: [UInt8]...) -> [UInt8] {
    var context: [UInt8] = []
    context.reserveCapacity(parts.reduce(0) { $0 + 4 + $1.count })
    for part in parts {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: part.count).bigEndian) { context.append(contentsOf: $0) }
      context.append(contentsOf: part)
    }
    return context
  }
}

/// What an encrypted image belongs to: its user and its content. An image serves several jobs of one user, so it is
/// bound to these and to no job.
///
/// Both encryptions, of the image and of its own key, are made with it as associated data, beside a label that says
/// which of the two it is and of which version: a row that is moved to another user, or given another's bytes or
/// key, does not open.
public struct ImageBinding: Sendable, Equatable {
  /// The SHA-256 of the user's reference, by which the submitter calls them: 32 bytes. Whoever decrypts needs to know
  /// this much of a user, and no more.
  let userSHA256: [UInt8]
  /// The image's hash in the database, that of its bytes as they were before: 32 bytes.
  public let sha256: [UInt8]

  /// A binding of a user's image.
  public init(user: String, sha256: [UInt8]) {
    self.init(userSHA256: SHA256.digest(of: Array(user.utf8)), sha256: sha256)
  }

  /// A binding of an image of a user of whom only the hash is known.
  public init(userSHA256: [UInt8], sha256: [UInt8]) {
    self.userSHA256 = userSHA256
    self.sha256 = sha256
  }
}

extension ImageBinding: EncryptionBinding {
  var ofBytes: [UInt8] { context("analysis-image 1") }
  var ofKey: [UInt8] { context("analysis-image-key 1") }

  private func context(_ label: String) -> [UInt8] {
    Self.context(Array(label.utf8), userSHA256, sha256)
  }
}

/// What an encrypted file belongs to: its name.
struct FileBinding: EncryptionBinding {
  let name: String

  var ofBytes: [UInt8] { context("analysis-file 1") }
  var ofKey: [UInt8] { context("analysis-file-key 1") }

  private func context(_ label: String) -> [UInt8] {
    Self.context(Array(label.utf8), Array(name.utf8))
  }
}

/// What went wrong with a key, its file or an encrypted image. It holds neither a key nor a byte of an image.
public struct ImageEncryptionError: Error, Sendable, Equatable {
  /// What kind of failure it is.
  public enum Code: Sendable {
    /// This system cannot encrypt at all.
    case unavailable
    /// The key file cannot be read or written; the underlying error says why.
    case file
    /// The key file's content is not what it should be.
    case syntax
    /// The key file has no key of that number.
    case noKey
    /// The key may not go.
    case inUse
    /// Under the right key an image or its own key is not what was encrypted, or not of that user.
    case tampered
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

/// An image as it is stored: encrypted under the keys that there are, or as it is.
public struct KeptImage: Sendable {
  /// The bytes to be stored.
  public let bytes: [UInt8]
  /// The hash by which the user's image is known; of an encrypted one it is made with a key.
  public let sha256: [UInt8]
  /// The image's own key; nil where it is not encrypted.
  public let key: WrappedKey?

  /// - Parameters:
  ///   - user: Whose image it is, as the queue calls them.
  ///   - keys: Under which it is encrypted; nil leaves it as it is.
  /// - Throws: `noKey` or `unavailable`.
  public init(_ image: [UInt8], of user: String, _ keys: KeyRing?) throws(ImageEncryptionError) {
    guard let keys else {
      (bytes, sha256, key) = (image, SHA256.digest(of: image), nil)
      return
    }
    sha256 = keys.imageHash(of: image)
    let encrypted = try keys.encrypt(image, ImageBinding(user: user, sha256: sha256))
    (bytes, key) = (encrypted.bytes, encrypted.key)
  }
}
