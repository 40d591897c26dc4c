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
