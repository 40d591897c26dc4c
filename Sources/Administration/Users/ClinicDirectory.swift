import Formatting
public import JobQueue
public import PostgreSQL
import SQLFiles

/// A clinic, whose users the reports of a restricted database role are about.
public struct Clinic: Sendable, Equatable {
  /// Its number.
  public let id: Int
  /// Its name; unique.
  public let name: String
  /// How many users it has.
  public let users: Int
}

/// What the users of a clinic have used of the running month.
public struct ClinicUsage: Sendable, Equatable {
  /// The clinic's name.
  public let clinic: String
  /// How many users it has.
  public let users: Int
  /// Units that they have taken.
  public let used: Int64
  /// Submits that their limits have refused.
  public let refused: Int64
}

/// A database role that sees the users of some clinics only.
public struct ClinicViewer: Sendable, Equatable {
  /// The role's name.
  public let role: String
  /// The clinics that it sees, by name; none at all if it sees nobody.
  public let clinics: [String]
}

/// The clinics, whose users are whose, and which database roles see which.
public struct ClinicDirectory: Sendable {
  private let database: ConnectionPool

  /// The clinics of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Every clinic by name.
  public func list() async throws(JobQueueError) -> [Clinic] {
    try await Statement(
      SQLFunction("list_clinics", 0, "o_clinic", "o_name", "o_users"), [], while: "listing the clinics"
    ) { rows in
      try rows.map {
        Clinic(id: try $0.int("o_clinic"), name: try $0.string("o_name"), users: try $0.int("o_users"))
      }
    }.run(on: database)
  }

  /// What the clinics' users have used of the running month: the hundred that have used most.
  public func usage() async throws(JobQueueError) -> [ClinicUsage] {
    try await Statement(
      SQLFunction("clinic_usage", 0, "o_clinic", "o_users", "o_used", "o_refused"), [],
      while: "reading what the clinics have used"
    ) { rows in
      try rows.map {
        ClinicUsage(
          clinic: try $0.string("o_clinic"), users: try $0.int("o_users"), used: try $0.int64("o_used"),
          refused: try $0.int64("o_refused"))
      }
    }.run(on: database)
  }

  /// The roles that are restricted, by name.
  public func viewers() async throws(JobQueueError) -> [ClinicViewer] {
    try await Statement(
      SQLFunction("list_clinic_viewers", 0, "o_role", "o_clinics"), [],
      while: "listing the roles that are restricted to clinics"
    ) { rows in
      try rows.map {
        ClinicViewer(role: try $0.string("o_role"), clinics: try $0.array("o_clinics", of: String.self))
      }
    }.run(on: database)
  }

  /// Adds a clinic; false if it is there already.
  ///
  /// - Throws: `invalid` for a name that is empty, longer than 100 characters or has a character that cannot be seen.
  public func add(_ name: String) async throws(JobQueueError) -> Bool {
    guard (1...100).contains(name.unicodeScalars.count),
      name.unicodeScalars.allSatisfy(\.isPrintable)
    else {
      throw JobQueueError(
        .invalid, "A clinic's name must have from 1 to 100 characters, and none that cannot be seen.")
    }
    return try await Self.change(SQLFunction("add_clinic", 1), [.text(name)], "adding clinic \(name)")
      .run(on: database)
  }

  /// Gives a user to a clinic, or to none.
  ///
  /// - Throws: `notFound` for an unknown user or clinic.
  public func assign(
    _ user: String, to clinic: String?, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    if let clinic { try await require([clinic]) }
    let shard = try await ShardDirectory(database).shard(of: user)
    let isDone = try await Self.change(
      SQLFunction("assign_clinic", 3), [.int16(shard), .text(user), .text(clinic)],
      "giving user \(user) to a clinic"
    ).run(on: database, as: actor)
    guard isDone else { throw UserDirectory.unknown(user) }
  }

  /// Has a role see the users of clinics, beside those that it sees already; of others it sees none from then on.
  ///
  /// - Throws: `notFound` for an unknown clinic, `badRow` for an unknown role or one that nothing restricts.
  public func grant(
    _ clinics: [String], to role: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    try await require(clinics)
    try await Statement(
      SQLFunction("grant_clinics", 2), [.text(storable(role)), .array(clinics)],
      while: "restricting role \(role)"
    ) { _ in
    }.run(on: database, as: actor)
  }

  /// Has a role see the users of clinics no more; false if it was not restricted to any.
  public func revoke(
    _ clinics: [String], from role: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    try await require(clinics)
    return try await Self.change(
      SQLFunction("revoke_clinics", 2), [.text(storable(role)), .array(clinics)],
      "restricting role \(role)"
    ).run(on: database, as: actor)
  }

  /// Has a role see everybody again; false if it was not restricted.
  public func lift(_ role: String, by actor: AuditActor? = nil) async throws(JobQueueError) -> Bool {
    try await Self.change(
      SQLFunction("lift_clinics", 1), [.text(storable(role))],
      "lifting the restriction of role \(role)"
    ).run(on: database, as: actor)
  }

  private func require(_ names: [String]) async throws(JobQueueError) {
    let known = Set(try await list().map(\.name))
    guard let unknown = names.first(where: { !known.contains($0) }) else { return }
    throw JobQueueError(
      .notFound, "There is no clinic \(unknown).", advice: "Add it with analysisctl clinics add.")
  }

  private static func change(
    _ function: SQLFunction, _ parameters: [Parameter], _ doing: String
  ) -> Statement<Bool> {
    Statement(function, parameters, while: doing) { rows in try rows.single().bool(function.columns[0]) }
  }
}
