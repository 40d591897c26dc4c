public import PostgreSQL
public import Queue
import Support

/// The audit: what somebody did, as a chain in which nothing can be changed unseen.
public struct AuditLog: Sendable {
  private let database: ConnectionPool

  /// How long verifying may take: it reads every entry.
  static let verifying: Duration = .seconds(600)

  /// The audit of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// A draft that is older than this was not chained, though somebody tried: it is left over.
  private static let patience = 60.0

  /// Puts into the chain what is recorded and committed, if the login is a worker's or the owner's. A worker does so
  /// every second.
  ///
  /// - Parameter deadline: how long each thousand may take; nil for the connection's own.
  public func chain(deadline: Duration? = nil) async throws(JobQueueError) {
    let statement = WorkerStatements.chainAudit(waits: true)
    while try await statement.run(on: database, deadline: deadline) == Int(WorkerStatements.auditPage) {}
  }

  /// The end of the chain as it is now, to be kept outside of the database.
  public func end() async throws(JobQueueError) -> KeptEnd {
    try await Statement(
      SQLFunction("audit_ends", 0), as: ChainEnds.self, while: "reading the audit's end"
    ) { end in
      let oldest = end.firstAt.map { AuditMark.Oldest(id: end.first, at: Int64($0)) }
      return KeptEnd(
        at: UnixTime.now.seconds, installation: end.installation,
        mark: AuditMark(id: end.id, hash: end.hash, oldest: oldest))
    }.run(on: database)
  }

  /// The chain's ends as the database has them.
  struct ChainEnds: Decodable {
    let installation: String
    let first: Int64
    let firstAt: Double?
    let id: Int64
    let hash: String
  }

  /// How many entries are not in the chain yet, which no end covers, and for how many seconds the oldest.
  func unchained() async throws(JobQueueError) -> (count: Int, seconds: Double?) {
    struct Unchained: Decodable {
      let count: Int
      let seconds: Double?
    }
    return try await Statement(
      SQLFunction("unchained", 0), as: Unchained.self, while: "looking for entries that are not chained"
    ) { ($0.count, $0.seconds) }.run(on: database)
  }

  /// Entries, the latest first: those that are not chained yet, then those of the chain.
  ///
  /// - Throws: `badRow` when the filter names a user who is not there.
  public func list(_ filter: AuditFilter = .init(), limit: Int = 50) async throws(JobQueueError)
    -> [AuditEntry]
  {
    try await chain()
    let since = timestamp(filter.since), until = timestamp(filter.until)
    let (action, user, by) = (filter.action.map(storable), filter.user.map(storable), filter.by.map(storable))
    let (role, object) = (filter.role.map(storable), filter.object.map(storable))
    let parameters: [Parameter] = [
      .timestamp(since), .timestamp(until), .text(action), .text(user), .text(by), .text(role), .text(object),
    ]
    let chained = Statement(
      SQLFunction("audit_list", 9), parameters + [.int64(filter.before), .int32(Int32(clamping: limit))],
      as: [AuditEntry].self, while: "reading the audit")
    guard filter.before == nil else { return try await chained.run(on: database) }
    let drafts = Statement(
      file: "audit/drafts.sql", parameters + [.int32(Int32(clamping: limit))],
      while: "reading what is not chained yet"
    ) { rows in
      try rows.map { try $0.decode(AuditEntry.self, beside: ["id": nil, "hash": nil]) }
    }
    do {
      // As of one moment: what is chained meanwhile is not missed.
      return try await database.transaction(isolation: .repeatableRead, readOnly: true) { transaction in
        let chained = try await chained.run(on: transaction)
        return Array((try await drafts.run(on: transaction) + chained).prefix(limit))
      }
    } catch {
      throw JobQueueError(error, while: "reading the audit")
    }
  }

  /// Looks at every entry and at the chain's end, all as of one moment, and at the functions and triggers that write them.
  /// The hashes are computed here, and the tables are read themselves, not through a function of the database.
  ///
  /// - Parameters:
  ///   - expected: an end that was kept elsewhere, and that has to be an entry still.
  ///   - kept: ends that were kept outside of the database, read before this is called. Each of this installation has
  ///     to be an entry still, unless it was purged in its time; that there is none is a fault, and so is one of
  ///     another installation, whose number somebody may have changed.
  ///   - limit: how many faults are named at most.
  public func verify(
    expecting expected: AuditMark? = nil, comparedWith kept: KeptEnds? = nil, limit: Int = 100
  ) async throws(JobQueueError) -> AuditVerdict {
    var others: [String] = []
    do throws(JobQueueError) {
      try await chain()
    } catch {
      // Without a head, or with a function that fails, there is still a chain to look at.
      guard error.code == .server || error.code == .schemaMissing || error.code == .badRow else {
        throw error
      }
      others.append("what is recorded cannot be chained")
    }
    others += try await Migrator(database).altered().map { "not this program's: \($0)" }
    do {
      return try await database.transaction(
        isolation: .repeatableRead, readOnly: true, deadline: Self.verifying
      ) { transaction in
        let row = try await transaction.query(SQLFiles.required("audit/head.sql")).single()
        let pending = try row.int("pending")
        let age = try row.doubleIfPresent("oldest_seconds")
        if let age, age > Self.patience {
          others.append("\(pending) entries are not chained, the oldest for \(Moment.age(age))")
        }
        let head = try AuditChain.Head(row)
        let ends = kept?.ends ?? []
        let own = ends.filter { $0.installation == head?.installation ?? $0.installation }
        if kept != nil {
          let foreign = ends.last { $0.installation != head?.installation ?? $0.installation }
          others += Self.faults(own: own, foreign: foreign)
        }
        var chain = AuditChain(
          head, expecting: expected, kept: own, now: try row.seconds("now"), limit: limit)
        try await transaction.forEachBatch(
          SQLStatement(SQLFiles.required("audit/entries.sql"), label: "reading the audit"),
          deadline: Self.verifying
        ) { rows in
          for row in rows { chain.add(try AuditChain.Entry(row)) }
        }
        return chain.verdict(pending: (pending, age), others: others, isCompared: kept != nil)
      }
    } catch {
      throw JobQueueError(error, while: "verifying the audit")
    }
  }

  private static func faults(own: [KeptEnd], foreign: KeptEnd?) -> [String] {
    var found = own.isEmpty ? ["no end of this installation was kept there by that user"] : []
    if let foreign {
      found.append(
        "ends of installation \(foreign.installation) were kept there, the last on \(foreign.time): either the "
          + "number of this one was changed, or two share the place")
    }
    return found
  }

  /// Removes a key from where it is kept, and records that: the entry is there if it was removed, and not otherwise.
  ///
  /// - Parameters:
  ///   - key: the key's number.
  ///   - removal: removes it. What it throws is thrown on, and nothing is recorded.
  func record<Output>(
    removing key: Int64, by actor: AuditActor?, _ removal: () async throws -> Output
  ) async throws -> Output {
    do {
      return try await database.transaction { transaction in
        try await Statement(
          SQLFunction("audit_key", 2), [.text("remove_key"), .int64(key)],
          while: "recording that a key is removed"
        ).run(on: transaction, as: actor)
        return try await removal()
      }
    } catch let error as PostgreSQLError {
      throw JobQueueError(error, while: "recording that a key is removed")
    }
  }
}

/// Which entries of the audit are meant; what is nil does not matter.
public struct AuditFilter: Sendable, Equatable {
  /// From this time on, in seconds since 1970.
  var since: Double?
  /// Before this time.
  public var until: Double?
  var action: String?
  /// About this user or a job of theirs: the reference, or `#` and the internal number of one who was erased.
  public var user: String?
  /// By this database role or user of the operating system, who is who the client said.
  var by: String?
  /// By this database role.
  var role: String?
  /// What it was done to, as an entry names it; `job:12` also finds the job among others.
  var object: String?
  /// Before this entry, for the next page.
  var before: Int64?

  /// A filter; without arguments, of all entries.
  public init(
    since: Double? = nil, until: Double? = nil, action: String? = nil, user: String? = nil, by: String? = nil,
    role: String? = nil, object: String? = nil, before: Int64? = nil
  ) {
    self.since = since
    self.until = until
    self.action = action
    self.user = user
    self.by = by
    self.role = role
    self.object = object
    self.before = before
  }
}

/// One thing that somebody did.
public struct AuditEntry: Sendable, Equatable, RenamedColumns {
  /// It is the user of the operating system.
  public static let columns = ["user": "osUser"]

  /// Its number in the chain; nil while it is not chained.
  public let id: Int64?
  /// When, in seconds since 1970.
  public let at: Double
  /// The database role that connected.
  let role: String
  /// The user of the operating system, as the client says.
  public let user: String?
  /// The machine, as the client says.
  let host: String?
  /// The client's address, as the server sees it; nil for a local socket.
  let address: String?
  /// What was done, in a word.
  let action: String
  /// What it was done to.
  let object: String
  /// Why, if that was said.
  let reason: String?
  /// What else matters of it, as a JSON object.
  let detail: String?
  /// Its hash, in hexadecimal; nil while it is not chained.
  let hash: String?
}
