public import AnalysisCore

/// The image of a job that is submitted.
public enum SubmittedImage: Sendable, Equatable {
  /// Bytes to be stored, with the SHA-256 (32 bytes) by which this user's images are told apart, and the
  /// size in pixels; `unsanitized` when metadata has not been removed yet. With a `storedKey` the bytes are encrypted, and the hash
  /// is that of the image as it was before.
  case bytes(
    [UInt8], sha256: [UInt8], width: Int, height: Int, unsanitized: Bool = false, storedKey: StoredKey? = nil)
  /// An image that this user has already, by its SHA-256.
  case known(sha256: [UInt8])

  /// The SHA-256.
  public var sha256: [UInt8] {
    switch self {
    case .bytes(_, let sha256, _, _, _, _), .known(let sha256): sha256
    }
  }

  /// How many bytes have to be sent.
  public var byteCount: Int {
    switch self {
    case .bytes(let bytes, _, _, _, _, _): bytes.count
    case .known: 0
    }
  }

  /// How the bytes are encrypted; nil when they are not, or there are none.
  public var storedKey: StoredKey? {
    if case .bytes(_, _, _, _, _, let storedKey) = self { storedKey } else { nil }
  }
}

/// A job that somebody wants done.
public struct Submission: Sendable, Equatable {
  /// Whose job it is, as the submitter calls the user.
  public var user: String
  /// What to look for.
  public var kind: AnalysisKind
  /// How soon it is wanted.
  public var priority: Priority
  /// The image.
  public var image: SubmittedImage
  /// The idempotency key: the same key of the same user gives the same job; nil for none, and then a
  /// repeat is another job.
  public var key: String?
  /// The time from which it may run, in seconds since 1970; nil for now. It counts in that time's month.
  public var runAt: Double?
  /// The time after which it is not wanted any more, in seconds since 1970; nil for never.
  public var expiresAt: Double?
  /// What the submitter calls the image; kept for the submitter alone.
  public var sourceName: String?

  /// A job with what is known of it.
  public init(
    user: String, kind: AnalysisKind, priority: Priority = .normal, image: SubmittedImage,
    key: String? = nil, runAt: Double? = nil, expiresAt: Double? = nil, sourceName: String? = nil
  ) {
    self.user = user
    self.kind = kind
    self.priority = priority
    self.image = image
    self.key = key
    self.runAt = runAt
    self.expiresAt = expiresAt
    self.sourceName = sourceName
  }
}
