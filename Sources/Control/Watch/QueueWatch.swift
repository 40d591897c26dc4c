import PostgreSQL
import Queue
import Support

/// Looks at what happens in the queue, one statement a look.
struct QueueWatch: Sendable {
  struct Filter: Sendable, Equatable {
    /// Only this user's jobs.
    var user: String?
    /// Only jobs of this batch.
    var batch: BatchID?
    /// Only jobs of this type.
    var kind: AnalysisKind?
  }

  private let database: ConnectionPool
  private let filter: Filter

  /// The events of a database that a filter means.
  init(_ database: ConnectionPool, _ filter: Filter = Filter()) {
    (self.database, self.filter) = (database, filter)
  }

  /// The server's clock, in seconds since 1970.
  func now() async throws(JobQueueError) -> Double {
    try await Statement.serverTime.run(on: database).secondsSince1970
  }

  /// One look.
  ///
  /// - Throws: `notFound` where the first look is at a user who is unknown, or whom this login does not see.
  /// - Parameters:
  ///   - position: What the look before answered; nil for the first.
  ///   - since: From when on the first look is to tell, in seconds since 1970.
  ///   - ahead: How many waiting jobs of each lane are followed.
  ///   - limit: How many new jobs are answered at most.
  func look(
    after position: WatchPosition?, since: Double? = nil, ahead: Int = 500, limit: Int = 5000
  ) async throws(JobQueueError) -> WatchLook {
    let statement = Statement(
      SQLFunction("watch", 10),
      [
        JobFilter(user: filter.user, kind: filter.kind, batch: filter.batch).parameter,
        .timestamp(timestamp(since)), .timestamp(timestamp(position?.at)),
        .array(position.map { [$0.job, $0.audit, $0.horizon] }), .array(position?.shards),
        .array(position?.periods), .array(position?.jobs), .array(position?.places),
        .int32(Int32(clamping: ahead)), .int32(Int32(clamping: limit)),
      ], as: [WatchRow].self, while: "watching the queue"
    ) { rows in
      try WatchLook(rows)
    }
    do throws(JobQueueError) {
      return try await statement.run(on: database)
    } catch {
      guard let user = filter.user, let refusal = error.underlying as? PostgreSQLError,
        refusal.sqlState == "P0002"
      else { throw error }
      // The server names what restricts the login.
      guard refusal.table == "clinic_viewer" else { throw UserDirectory.unknown(user) }
      throw JobQueueError(
        .notFound, "This login is restricted to clinics, and sees no user \(user).",
        advice: """
          Check the spelling, or have an administrator let the login see the user's clinic with \
          analysisctl clinics grant.
          """, underlying: refusal)
    }
  }
}

/// Where a look ended, and the next begins.
struct WatchPosition: Sendable, Equatable, Decodable {
  /// When it was, in seconds since 1970.
  let at: Double
  let job: Int64
  let audit: Int64
  let horizon: Int64
  let shards: [Int16]
  let periods: [Int16]
  let jobs: [Int64]
  /// The lane, and 16 times the attempt that runs or comes next; negative while the job waits for it.
  let places: [Int16]
}

/// A row of a look: what has happened, or in the last row where it ended.
private enum WatchRow: Decodable {
  case event(QueueEvent), end(End)

  struct End: Decodable {
    let position: WatchPosition
    let isCut: Bool
    let outrun: Int
    let count: Int?
  }

  private enum CodingKeys: CodingKey { case event, happened, end }

  init(from decoder: any Decoder) throws {
    let row = try decoder.container(keyedBy: CodingKeys.self)
    self =
      QueueEvent.Kind(rawValue: try row.decode(String.self, forKey: .event)) == nil
      ? .end(try row.decode(End.self, forKey: .end))
      : .event(try row.decode(QueueEvent.self, forKey: .happened))
  }
}

/// What a look has found.
struct WatchLook: Sendable, Equatable {
  /// What happened, and what an earlier look may have found already.
  var events: [QueueEvent]
  /// From where the next look goes on.
  let position: WatchPosition
  /// Whether there is more, and the next look is due at once.
  let isCut: Bool
  /// Of how many lanes more was claimed since the look before than that one had looked ahead.
  let outrun: Int
  /// How many jobs workers have reported as ended, in all.
  let reported: Int?

  fileprivate init(_ rows: [WatchRow]) throws {
    var last: WatchRow.End?
    events = rows.compactMap { row in
      switch row {
      case .event(let event): return event
      case .end(let end):
        last = end
        return nil
      }
    }
    guard let last else {
      throw JobQueueError(.unexpectedAnswer, "The database did not say where the next look begins.")
    }
    (position, isCut, outrun, reported) = (last.position, last.isCut, last.outrun, last.count)
  }

  init(
    events: [QueueEvent], position: WatchPosition, isCut: Bool = false, outrun: Int = 0, reported: Int? = nil
  ) {
    (self.events, self.position, self.isCut) = (events, position, isCut)
    (self.outrun, self.reported) = (outrun, reported)
  }
}

/// Something that has happened in the queue.
struct QueueEvent: Sendable, Equatable, RenamedColumns {
  static let columns = [
    "kind": "event", "callMilliseconds": "callMs", "subject": "class", "name": "code",
  ]

  /// What can happen, in the order in which it happens to a job.
  enum Kind: String, Sendable, CaseIterable, ColumnValue {
    /// A job is new.
    case submitted
    /// Cancelled or dead before, it was queued again by somebody.
    case requeued
    /// A worker has taken it for an attempt.
    case started
    /// An attempt failed and is made again.
    case retried
    case done
    case dead
    case cancelled
    /// Something was refused that has no job.
    case refused
    /// An operator has paused something.
    case paused
    /// A pause has ended.
    case resumed
    /// More has happened than can be shown.
    case leftOut = "left_out"

    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  let kind: Kind
  /// When, by the server's clock, in seconds since 1970; of what has no time of its own, when it was seen.
  let at: Double
  /// The job that it happened to.
  var job: JobID?
  /// Whose job it is.
  var user: String?
  var lane: Lane?
  var batch: BatchID?
  /// What the submitter calls the job.
  var reference: String?
  /// The file that it was submitted from.
  var file: String?
  /// Which attempt it was.
  var attempt: Int?
  /// How long the call took that brought the result.
  var callMilliseconds: Int?
  /// The class of a failure; what was paused ("all", "type" or "endpoint"); the event that was left out.
  var subject: String?
  /// The endpoint's code of a failure; the name of what was paused.
  var name: String?
  /// What went wrong, or why it was paused.
  var message: String?
  /// The login that did it.
  var by: String?
  /// How many were refused or left out.
  var count: Int?

  /// Something that happened at a time.
  init(_ kind: Kind, at: Double) {
    (self.kind, self.at) = (kind, at)
  }
}
