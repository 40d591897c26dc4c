import Support

/// What the database holds after the drain.
struct DatabaseFacts: Sendable, Equatable {
  /// A job's row, with where it is.
  struct Job: Sendable, Equatable {
    enum Place: Sendable, Equatable {
      case analysed
      case cancelled
      case dead
      /// It waits for its time.
      case scheduled
      /// It waits in a lane or in a lease, or is nowhere.
      case open
    }

    let id: JobID
    let shard: Int16
    let user: String
    /// The tag of the record that made it; nil when no record fits.
    let tag: String?
    let place: Place
    /// How often its cancellation was undone.
    var undone = 0
    /// Whether its user was erased, and with them what told which record made it.
    var isErased = false
    /// Whether a login of the stress submitted it, which keeps no record and answers jobs without any call.
    var isStress = false

    /// The `Idempotency-Key` of its calls.
    var callKey: String { "\(shard)-\(id)" }
  }

  /// An attempt that was written down: a result, or a failure.
  struct Attempt: Sendable, Equatable {
    let job: JobID
    /// The class of the failure; nil for a result.
    let failure: String?
    /// How many calls of the endpoint it tells of.
    let calls: Int
  }

  /// A row of `analysis.broken_invariants()`.
  struct BrokenRule: Sendable, Equatable {
    /// What it begins with: `I4 usage` and the like.
    let rule: String
    let detail: String
  }

  var jobs: [Job] = []
  var attempts: [Attempt] = []
  var brokenRules: [BrokenRule] = []
  /// Users whose counters differ from their jobs, in words.
  var differences: [String] = []
  /// What there is of persons who were erased, in words.
  var traces: [String] = []
}
