public import PostgreSQL
public import Support

/// The image of a job that is submitted.
public enum SubmittedImage: Sendable, Equatable {
  /// Bytes to be stored, with the SHA-256 (32 bytes) by which this user's images are told apart, and the
  /// size in pixels; `unsanitized` when metadata has not been removed yet. With a `storedKey` the bytes are encrypted,
  /// and the hash is that of the image as it was before, under a key of the key file (HMAC).
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
  var byteCount: Int {
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
  /// What the submitter calls the job, such as the number of a visit; it can be looked for. Only what
  /// ``faultOfReference(_:)`` finds nothing in is taken.
  public var reference: String?

  /// A job with what is known of it.
  public init(
    user: String, kind: AnalysisKind, priority: Priority = .normal, image: SubmittedImage,
    key: String? = nil, runAt: Double? = nil, expiresAt: Double? = nil, sourceName: String? = nil,
    reference: String? = nil
  ) {
    self.user = user
    self.kind = kind
    self.priority = priority
    self.image = image
    self.key = key
    self.runAt = runAt
    self.expiresAt = expiresAt
    self.sourceName = sourceName
    self.reference = reference
  }

  /// What is wrong with a reference, such as "is empty"; nil for what `analysis.is_reference` takes: 1 to 200
  /// characters, and none that cannot be seen.
  public static func faultOfReference(_ reference: String) -> String? {
    guard !reference.isEmpty else { return "is empty" }
    guard reference.unicodeScalars.count <= 200 else { return "is longer than 200 characters" }
    return printable(reference) == reference ? nil : "has characters that cannot be seen"
  }
}

/// How much a submitter puts into one call, and how patient it is.
public struct SubmitLimits: Sendable, Equatable {
  /// Image bytes in one call, unless one image alone is larger.
  var maximumBytes: Int
  /// Jobs in one call.
  public var maximumCount: Int
  /// How often each job may be tried, from 1 to 100.
  public var maxAttempts: Int
  /// How long one call may take.
  public var deadline: Duration
  /// How often a call is made again that the server refused for a passing reason.
  public var repeats: Int
  /// How long a call is made again and again while the server is away: over its restart, for instance.
  public var patience: Duration
  /// The least time between two notifications of the workers.
  var notifyInterval: Duration

  /// The usual limits: 8 MB and 500 jobs a call, 10 attempts a job, 30 s, 5 repeats, 30 s of patience, 10 ms
  /// between notifications.
  public init(
    maximumBytes: Int = 8_000_000, maximumCount: Int = 500, maxAttempts: Int = 10,
    deadline: Duration = .seconds(30), repeats: Int = 5, patience: Duration = .seconds(30),
    notifyInterval: Duration = .milliseconds(10)
  ) {
    self.maximumBytes = maximumBytes
    self.maximumCount = max(1, maximumCount)
    self.maxAttempts = maxAttempts
    self.deadline = deadline
    self.repeats = repeats
    self.patience = patience
    self.notifyInterval = notifyInterval
  }
}

/// What became of one submission.
public enum SubmitOutcome: Sendable, Equatable {
  /// A new job, and the month in which it counts.
  case created(JobID, Period)
  /// The job that the same key gave before.
  case duplicate(JobID)
  /// Nothing was stored and nothing counted.
  case refused(Refusal)

  /// The job; nil when there is none.
  public var job: JobID? {
    switch self {
    case .created(let job, _), .duplicate(let job): job
    case .refused: nil
    }
  }
}

/// How an image was encrypted before it was submitted. The database keeps it and can do nothing with it.
public struct StoredKey: Sendable, Equatable, RenamedColumns {
  /// It says which key encrypted it.
  public static let columns = ["keyID": "encryptedBy"]

  /// The number of the key file's key under which the image's own key is.
  public var keyID: Int64
  /// The image's own key, encrypted under that one: 72 bytes.
  public var wrappedKey: [UInt8]

  /// A stored key with its parts.
  public init(keyID: Int64, wrappedKey: [UInt8]) {
    self.keyID = keyID
    self.wrappedKey = wrappedKey
  }
}
