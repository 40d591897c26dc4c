public import PostgreSQL
public import Support

/// A job's analysis, to be stored.
public struct CompletedJob: Sendable, Equatable {
  /// The lease under which it ran.
  public var lease: Int64
  /// The job.
  public var job: JobID
  /// What the model answered.
  var analysis: Analysis
  /// How many calls of the endpoint the attempt took.
  public var calls: Int
  /// How long the call took, in milliseconds.
  var callMilliseconds: Int
  /// The endpoint's name.
  public var endpoint: String

  /// An analysis to be stored.
  public init(
    lease: Int64, job: JobID, analysis: Analysis, calls: Int, callMilliseconds: Int, endpoint: String
  ) {
    self.lease = lease
    self.job = job
    self.analysis = analysis
    self.calls = calls
    self.callMilliseconds = callMilliseconds
    self.endpoint = endpoint
  }

  /// The job with the lease it is held under.
  public var held: HeldJob { HeldJob(lease: lease, job: job) }
}

/// A job and the lease under which it is held.
public struct HeldJob: Sendable, Hashable {
  /// The lease.
  public var lease: Int64
  /// The job.
  public var job: JobID

  /// A job that is held.
  public init(lease: Int64, job: JobID) {
    self.lease = lease
    self.job = job
  }
}

/// What a call did with the jobs that it named. Of those that are in neither set the lease was gone, or they had ended.
public struct EndedJobs: Sendable, Equatable {
  /// Ended by this call.
  public var ended: Set<JobID>
  /// Still held, since somebody else's open transaction holds the job: the call is to be made again for them.
  var busy: Set<JobID> = []
}

/// What became of analyses that were to be stored.
public struct CompletionOutcome: Sendable, Equatable {
  /// Stored by this call.
  public var stored: Set<JobID> = []
  /// Not stored, since the lease was gone or the job was cancelled meanwhile.
  public var stale: Set<JobID> = []
  /// Not stored yet, since somebody else's open transaction holds the job; to be tried again.
  public var busy: Set<JobID> = []
  /// Refused by the database, and dead, with the database's message.
  public var rejected: [JobID: String] = [:]
  /// Neither stored nor failed, since the database can do neither, with its message: the lease is to run out.
  public var unrecorded: [JobID: String] = [:]

  /// An outcome of nothing.
  init() {}
}

/// Writes conditions as the JSON that the database keeps, straight to UTF-8.
///
/// An object holds `id`, `name`, `confidence`, `band` (its number) and `normal`, and of `description`,
/// `symptoms`, `serious`, `consult`, `treatment` and `recommendation` those that the model gave: what it did not say
/// stays absent. A confidence is always finite, so every number is valid JSON.
enum ConditionsWriter {
  /// The JSON array of some conditions.
  static func json(_ conditions: [Condition]) -> [UInt8] {
    var writer = JSONWriter()
    writer.reserve(64 + conditions.count * 512)
    writer.array(conditions) { write($1, to: &$0) }
    return writer.bytes
  }

  private static func write(_ condition: Condition, to json: inout JSONWriter) {
    json.raw("{\"id\":")
    json.string(condition.id)
    json.raw(",\"name\":")
    json.string(condition.name)
    json.raw(",\"confidence\":")
    json.raw(condition.confidence.value.description)
    json.raw(",\"band\":")
    json.raw(condition.confidence.band.code.description)
    json.raw(",\"normal\":")
    json.boolean(condition.isNormal)
    if let explanation = condition.explanation {
      json.raw(",\"description\":")
      json.string(explanation)
    }
    if let symptoms = condition.symptoms {
      json.raw(",\"symptoms\":")
      json.array(symptoms) { $0.string($1) }
    }
    if let serious = condition.isPotentiallySerious {
      json.raw(",\"serious\":")
      json.boolean(serious)
    }
    if let consult = condition.recommendsConsultation {
      json.raw(",\"consult\":")
      json.boolean(consult)
    }
    if let treatment = condition.treatment {
      json.raw(",\"treatment\":")
      json.string(treatment)
    }
    if let recommendation = condition.recommendation {
      json.raw(",\"recommendation\":")
      json.string(recommendation)
    }
    json.raw("}")
  }
}

/// An attempt that failed, to be recorded, and what is to become of the job.
public struct FailedAttempt: Sendable, Equatable {
  /// The lease under which the job ran.
  public var lease: Int64
  /// The job.
  public var job: JobID
  /// Whether and when it is tried again.
  var decision: RetryDecision
  /// What kind of failure it was.
  public var failureClass: FailureClass
  /// The endpoint's code; nil when there was none.
  public var code: String?
  /// What happened; no secrets, no image, bounded.
  public var message: String
  /// The endpoint's number of the error; nil when there was none.
  var errorID: String?
  /// The HTTP status; nil when there was none.
  public var status: Int?
  /// How many calls of the endpoint the attempt took.
  public var calls: Int
  /// Whether the endpoint may have counted a call that brought nothing.
  var maybeCounted: Bool
  /// The endpoint's name; nil when none was called.
  public var endpoint: String?

  /// A failed attempt with all that is known of it.
  public init(
    lease: Int64, job: JobID, decision: RetryDecision, failureClass: FailureClass, code: String? = nil,
    message: String, errorID: String? = nil, status: Int? = nil, calls: Int = 0, maybeCounted: Bool = false,
    endpoint: String? = nil
  ) {
    self.lease = lease
    self.job = job
    self.decision = decision
    self.failureClass = failureClass
    self.code = code
    self.message = message
    self.errorID = errorID
    self.status = status
    self.calls = calls
    self.maybeCounted = maybeCounted
    self.endpoint = endpoint
  }
}

/// What the database did with a failed attempt.
public enum FailOutcome: String, Sendable, CaseIterable, ColumnValue {
  /// The job is tried again.
  case retried
  /// The job has died, and its quota unit was refunded.
  case dead
  /// The lease was gone; nothing was changed.
  case stale
  /// Somebody else's open transaction holds the job; nothing was changed, and the call is to be made again.
  case busy
}

extension FailedAttempt {
  /// The job with the lease it is held under.
  public var held: HeldJob { HeldJob(lease: lease, job: job) }

  /// Whether the job only goes back, unharmed and at once: the call is recorded, and nothing was wrong with it.
  public var isReleased: Bool { decision == .retry(after: .zero, consumes: false) }

  /// The delay in milliseconds; nil when the job is dead.
  var delayMilliseconds: Int64? {
    switch decision {
    case .retry(let after, _): milliseconds(after)
    case .dead: nil
    }
  }

  /// Whether the attempt counts. The last one always does.
  var consumes: Bool {
    switch decision {
    case .retry(_, let consumes): consumes
    case .dead: true
    }
  }
}
