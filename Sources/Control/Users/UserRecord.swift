import PostgreSQL
internal import Queue
import Support

/// What is said of a user: by a file of the office, by a command or by the endpoint. What is nil stays as it is; an
/// empty text of the person's own (name, e-mail address, birthday, address, gender, photo) removes it.
struct UserRecord: Sendable, Equatable {
  /// What the operator calls the user.
  var reference: String
  /// The plan's name; a new user without one has `free`.
  var plan: String?
  /// The IANA zone in which the user's months are counted; a new user without one has the installation's.
  var zone: String?
  /// The day of the month on which the user's periods end; a new user without one has calendar months.
  var anchor: Int?
  /// The clinic whose the user is.
  var clinic: String?
  var name: String?
  var email: String?
  /// The day of birth, as `1980-05-31`.
  var birthday: String?
  var address: String?
  /// The gender, in a word of the person's own choosing.
  var gender: String?
  /// Where the photo is: all of it may be a secret.
  var photoURL: String?
  /// The photo's name where the endpoint's back-end keeps photos (`logo` of its answer to a log-in). It is not stored.
  var photoName: String?
  /// What an answer says of the user's clinic, by the names of its members. It is not stored: the clinic decides who is
  /// billed, so that nobody gets one without a command that names it.
  var notTaken: [String] = []
  /// The subscription at the endpoint.
  var subscription: String?
  /// The endpoint's own count of analyses.
  var analysisCount: Int?
  /// When the endpoint last reset its count, in seconds since 1970.
  var lastResetDate: Double?

  /// A record that says nothing yet.
  init(_ reference: String) {
    self.reference = reference
  }

  /// As `analysis.import_users` takes it.
  var json: JSONValue {
    let texts = [
      ("user", reference), ("plan", plan), ("zone", zone), ("clinic", clinic), ("name", name),
      ("email", email), ("birthday", birthday), ("address", address), ("gender", gender),
      ("photo", photoURL), ("subscription", subscription),
    ]
    var members = texts.compactMap { name, text in
      text.map { JSONValue.Member(name: name, value: .string(storable($0))) }
    }
    if let anchor { members.append(.init(name: "anchor", value: .count(Int32(clamping: anchor)))) }
    if let analysisCount {
      members.append(.init(name: "count", value: .count(Int32(clamping: analysisCount))))
    }
    if let lastResetDate { members.append(.init(name: "last_reset", value: .number(lastResetDate))) }
    return .object(members)
  }
}

/// A fact of a user that differs from what was said.
struct UserChange: Sendable, Equatable {
  /// `plan`, `zone`, `anchor`, `clinic`, `name`, `email`, `birthday`, `address`, `gender`, `photo`, `subscription`, `count` or
  /// `last_reset`.
  let field: String
  /// What it was; nil for nothing, and of a photo.
  let was: String?
  /// What it is; nil for nothing, and of a photo.
  let becomes: String?

  /// Reads the array of a row.
  static func read(_ json: String) throws -> [UserChange] {
    guard let changes = try JSONReader.read(Array(json.utf8)).elements else { return [] }
    return changes.map {
      UserChange(field: $0["field"]?.text ?? "", was: $0["was"]?.text, becomes: $0["is"]?.text)
    }
  }
}

/// What became of a user of whom something was said.
enum UserOutcome: Sendable, Equatable {
  /// The user is new.
  case created
  /// The user was there, and this was changed.
  case updated([UserChange])
  /// All of it was known.
  case unchanged
  /// Nothing was changed, for this reason.
  case refused(String)

  fileprivate init(_ row: ImportedUser) throws {
    self =
      switch row.outcome {
      case "created": .created
      case "updated": .updated(try UserChange.read(row.changes ?? "[]"))
      case "unchanged": .unchanged
      default: .refused(row.reason ?? "The database says not why.")
      }
  }
}

/// A row of `analysis.import_users`.
private struct ImportedUser: Decodable {
  let index: Int
  let outcome: String
  let reason, changes: String?
}

extension UserDirectory {
  /// So many users are taken over by one statement, which is a transaction of its own.
  private static let atOnce = 1000

  /// Takes over what is said of users. The later of two records of the same user counts.
  ///
  /// - Parameters:
  ///   - adding: Whether a user who is not there is added; otherwise refused.
  ///   - dry: Whether it is only said what would become of them.
  ///   - actor: Who does it, for the audit; nil for what the server knows itself.
  /// - Returns: An outcome for each record, in order; one that is refused does not stop the others.
  /// - Throws: errors of the database as a whole; what was taken over in statements before stays.
  func take(
    _ records: [UserRecord], adding: Bool = true, dry: Bool = false, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [UserOutcome] {
    var outcomes: [UserOutcome] = []
    outcomes.reserveCapacity(records.count)
    for start in stride(from: 0, to: records.count, by: Self.atOnce * 10) {
      let part = records[start..<min(start + Self.atOnce * 10, records.count)]
      outcomes += try await take(part, adding, dry, actor)
    }
    return outcomes
  }

  /// The same for some at a time: asks for their shards at once, then sends what belongs to a shard together.
  private func take(
    _ records: ArraySlice<UserRecord>, _ adding: Bool, _ dry: Bool, _ actor: AuditActor?
  ) async throws(JobQueueError) -> [UserOutcome] {
    let homes = try await shards.shards(of: Array(Set(records.map { storable($0.reference) })))
    var outcomes = [Int: UserOutcome]()
    var waiting: [Int16: [Int]] = [:]
    var names: [Int16: Set<String>] = [:]
    for index in records.indices {
      let name = storable(records[index].reference)
      let shard = homes[name] ?? 0
      // A user comes once in a call, so that the later record is seen after the earlier one.
      if waiting[shard, default: []].count == Self.atOnce || names[shard, default: []].contains(name) {
        outcomes.merge(try await send(waiting[shard] ?? [], of: records, shard, adding, dry, actor)) { $1 }
        (waiting[shard], names[shard]) = ([], [])
      }
      waiting[shard, default: []].append(index)
      names[shard, default: []].insert(name)
    }
    for (shard, indices) in waiting.sorted(by: { $0.key < $1.key }) where !indices.isEmpty {
      outcomes.merge(try await send(indices, of: records, shard, adding, dry, actor)) { $1 }
    }
    return records.indices.map { outcomes[$0] ?? .refused("The database gave no answer.") }
  }

  private func send(
    _ indices: [Int], of records: ArraySlice<UserRecord>, _ shard: Int16, _ adding: Bool, _ dry: Bool,
    _ actor: AuditActor?
  ) async throws(JobQueueError) -> [Int: UserOutcome] {
    try await Statement(
      SQLFunction("import_users", 4),
      [
        .int16(shard), .jsonb(JSONValue.array(indices.map { records[$0].json }).json), .bool(adding),
        .bool(dry),
      ], as: [ImportedUser].self, while: "taking over \(indices.count) users"
    ) { rows in
      try Dictionary(rows.map { (indices[$0.index - 1], try UserOutcome($0)) }) { $1 }
    }.run(on: database, as: actor)
  }

  /// Gives a user another name; everything of theirs stays. The former name is refused from then on.
  ///
  /// - Returns: The user's number, by which the audit knows them.
  /// - Throws: `notFound` for an unknown user; `badRow` for a name that another user has or had, or that cannot be one.
  func rename(
    _ reference: String, to name: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Int64 {
    let shard = try await shards.shard(of: reference)
    let number = try await Statement(
      SQLFunction("rename_user", 3), [.int16(shard), .text(reference), .text(storable(name))],
      as: Int64?.self, while: "renaming user \(reference)"
    ).run(on: database, as: actor)
    guard let number else { throw Self.unknown(reference) }
    return number
  }
}
