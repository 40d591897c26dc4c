public import PostgreSQL
public import Support

/// The image of a job that is submitted.
public enum SubmittedImage: Sendable, Equatable {
  /// Bytes to be stored, with the SHA-256 (32 bytes) by which this user's images are told apart, and the
  /// size in pixels; `unsanitized` when metadata has not been removed yet. With a `storedKey` the bytes are encrypted,
  /// and the hash is that of the image as it was before, under a key of the key file (HMAC).
  case bytes(
    [UInt8], sha256: [UInt8], width: Int, height: Int, unsanitized: Bool = false, storedKey: StoredKey? = nil)
  /// An image that is in an object store already, with the same beside it.
  case object(ImageObject, sha256: [UInt8], width: Int, height: Int, storedKey: StoredKey?)
  /// An image that this user has already, by its SHA-256.
  case known(sha256: [UInt8])

  /// The SHA-256.
  public var sha256: [UInt8] {
    switch self {
    case .bytes(_, let sha256, _, _, _, _), .object(_, let sha256, _, _, _), .known(let sha256): sha256
    }
  }

  /// How many bytes have to be sent.
  var byteCount: Int {
    switch self {
    case .bytes(let bytes, _, _, _, _, _): bytes.count
    case .object, .known: 0
    }
  }

  /// How the bytes are encrypted; nil when they are not, or there are none.
  var storedKey: StoredKey? {
    switch self {
    case .bytes(_, _, _, _, _, let storedKey), .object(_, _, _, _, let storedKey): storedKey
    case .known: nil
    }
  }

  /// The object that it is; nil where it is none.
  var object: ImageObject? {
    if case .object(let object, _, _, _, _) = self { object } else { nil }
  }
}

/// A job that somebody wants done.
public struct Submission: Sendable, Equatable {
  /// Whose job it is, as the submitter calls the user.
  public var user: String
  /// What to look for.
  public var kind: AnalysisKind
  /// How soon it is wanted.
  var priority: Priority
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
  var maximumCount: Int
  /// How often each job may be tried, from 1 to 100.
  var maxAttempts: Int
  /// How long one call may take, beside two seconds for each million bytes. A server that is frozen shows no error.
  var deadline: Duration
  /// How often a call is made again that the server refused for a passing reason.
  var repeats: Int
  /// How long a call is made again and again while the server is away: over its restart, for instance.
  public var patience: Duration
  /// The least time between two notifications of the workers.
  var notifyInterval: Duration

  /// The usual limits: 8 MB and 500 jobs a call, 10 attempts a job, 15 s, 5 repeats, 30 s of patience, 10 ms
  /// between notifications.
  public init(
    maximumBytes: Int = 8_000_000, maximumCount: Int = 500, maxAttempts: Int = 10,
    deadline: Duration = .seconds(15), repeats: Int = 5, patience: Duration = .seconds(30),
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

  /// How long a call with so many bytes of images may take.
  func deadline(bytes: Int) -> Duration { deadline + .microseconds(2 * bytes) }
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

/// A picture of which somebody asks whether it is paid for already.
public struct PictureInQuestion: Sendable, Equatable {
  /// Whose it is.
  public var user: String
  /// What it shows.
  public var kind: AnalysisKind
  /// The key under which it would be submitted. A picture whose key is known is not submitted again.
  public var key: String?
  /// The hash under which it would be stored; nil for any picture of that type.
  public var sha256: [UInt8]?

  /// A picture with what is known of it.
  public init(user: String, kind: AnalysisKind, key: String?, sha256: [UInt8]?) {
    self.user = user
    self.kind = kind
    self.key = key
    self.sha256 = sha256
  }

  /// Asks for the indices of those that are paid for.
  static func statement(_ pictures: [PictureInQuestion], shard: Int16) -> Statement<[Int]> {
    Statement(
      SQLFunction("billed_before", 5),
      [
        .int16(shard), .array(pictures.map(\.user)), .array(pictures.map(\.kind.code)),
        .array(pictures.map(\.key)), .array(pictures.map(\.sha256)),
      ], as: [Int].self, while: "asking what is paid for already"
    ) { places in
      places.map { $0 - 1 }.filter(pictures.indices.contains)
    }
  }
}

/// Why a submission was not taken, for the person who made it.
public struct Refusal: Sendable, Equatable {
  /// The reasons; `other` for one that a newer schema may know.
  public enum Reason: String, Sendable, CaseIterable {
    /// The user's monthly limit is reached.
    case quota
    /// The key was used before with another image or type.
    case keyConflict = "key_conflict"
    /// There is no such user.
    case unknownUser = "unknown_user"
    /// The user lives in another shard than the one that was named.
    case wrongShard = "wrong_shard"
    /// The image was named by its hash, and this user has none with it.
    case imageMissing = "image_missing"
    /// The user has too many jobs waiting.
    case waitingLimit = "waiting_limit"
    /// Too many jobs wait in all.
    case queueFull = "queue_full"
    /// The database's volume is nearly full.
    case storageFull = "storage_full"
    /// The month in which the job would count has not been prepared.
    case noPartition = "no_partition"
    /// A value is out of its range.
    case badArgument = "bad_argument"
    /// The expiry had passed already.
    case expired
    /// The image is in plaintext, and the database takes encrypted ones only.
    case plaintextRefused = "plaintext_refused"
    /// A reason that this program does not know.
    case other
  }

  /// The reason as a stable word for programs: the database's, or that of whoever could not even submit.
  public let code: String
  /// What happened, in one sentence.
  public let sentence: String
  /// What the submitter or the operator can do about it.
  public let advice: String?
  /// The limit that was reached; nil when the reason is not one.
  public let limit: Int?
  /// How much of it was in use; nil when the reason is not a limit.
  public let used: Int?

  /// A refusal by whoever prepares a submission.
  public init(code: String, sentence: String, advice: String?, limit: Int? = nil, used: Int? = nil) {
    self.code = code
    self.sentence = sentence
    self.advice = advice
    self.limit = limit
    self.used = used
  }

  /// A refusal by the database, whose code may be followed by words for whoever submits by SQL.
  public init(code answer: String, user: String, limit: Int? = nil, used: Int? = nil) {
    let code = String(answer.prefix { $0 != ":" })
    let reason = Reason(rawValue: code) ?? .other
    self.code = code
    sentence = Self.sentence(reason, code, user, limit, used)
    advice = Self.advice(reason)
    self.limit = limit
    self.used = used
  }

  /// Whether the reason is the monthly limit.
  public var isQuota: Bool { code == Reason.quota.rawValue }
  /// Whether the reason is that there is no such user.
  var isOfUnknownUser: Bool { code == Reason.unknownUser.rawValue }

  private static func sentence(
    _ reason: Reason, _ code: String, _ user: String, _ limit: Int?, _ used: Int?
  ) -> String {
    switch reason {
    case .quota:
      "User \(user) has reached the limit of \(limit.map(String.init) ?? "their plan") analyses a month"
        + (used.map { " (\($0) used)." } ?? ".")
    case .keyConflict: "The key was used before by user \(user) for another image or type."
    case .unknownUser: "There is no user \(user)."
    case .wrongShard: "User \(user) does not live in the shard that was asked."
    case .imageMissing: "User \(user) has no stored image with this hash."
    case .waitingLimit:
      "User \(user) has as many jobs waiting as one user may have\(limit.map { " (\($0))" } ?? "")."
    case .queueFull: "The queue is full\(limit.map { ": \($0) jobs wait" } ?? "")."
    case .storageFull: "The database has no room for more images."
    case .noPartition: "The month in which the job would run has not been prepared."
    case .badArgument: "A value of the submission is not allowed."
    case .expired: "The job's expiry has passed already."
    case .plaintextRefused: "The image is in plaintext, and the setting require_encryption is yes."
    case .other: "The database refused the submission: \(code)."
    }
  }

  private static func advice(_ reason: Reason) -> String {
    switch reason {
    case .quota: "Submit again next month, or change the user's plan with `analysisctl users set-plan`."
    case .keyConflict: "Use another key for another image."
    case .unknownUser: "Add the user with `analysisctl users add`, or check the spelling."
    case .wrongShard: "Was the number of shards changed? It is chosen once, at installation."
    case .imageMissing: "Submit the image's bytes."
    case .waitingLimit: "Wait until some of them have run, or raise the setting max_waiting_per_user."
    case .queueFull: "Try later, start more workers, or raise the setting max_waiting."
    case .storageFull: "Tell the operator; purge old images or enlarge the volume."
    case .noPartition:
      "Choose a time within the next three months, or run `analysisctl migrate` if the time is near."
    case .badArgument: "Check the image's size, the key's length and the times."
    case .expired: "Submit with a later expiry, or without one."
    case .plaintextRefused: "Submit it with `analysisctl submit --key-file`."
    case .other: "A newer analysisctl may say more."
    }
  }
}

extension Refusal: CustomStringConvertible {
  /// The sentence and the advice.
  public var description: String { advice.map { "\(sentence) \($0)" } ?? sentence }
}
