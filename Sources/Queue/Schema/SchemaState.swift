import Support

/// What is recorded in a database, compared with what a program knows. Pure: it decides, and asks nothing.
struct SchemaState: Sendable {
  let source: MigrationSource
  /// Whether the migrator's own tables are there.
  let isPrepared: Bool
  let applied: [SchemaStatus.Applied]
  /// The checksum of each function group that was applied.
  let functions: [String: String]

  /// The status to be shown.
  var status: SchemaStatus {
    SchemaStatus(
      applied: applied, pending: pending.map(\.name), outdatedFunctions: outdatedFunctions.map(\.name),
      unknown: unknown)
  }

  private var numbers: Set<Int> { Set(applied.map(\.number)) }

  private var pending: [MigrationSource.Migration] {
    source.migrations.filter { !numbers.contains($0.number) }
  }

  private var unknown: [Int] {
    let known = Set(source.migrations.map(\.number))
    return applied.map(\.number).filter { !known.contains($0) }
  }

  private var outdatedFunctions: [MigrationSource.FunctionGroup] {
    source.functions.filter { functions[$0.name] != SHA256.hexadecimal(of: $0.text) }
  }

  /// The steps that are still to be made.
  ///
  /// - Throws: when the database and the program do not belong together.
  func steps(rolePrefix: String? = nil) throws(JobQueueError) -> [MigrationStep] {
    try check()
    let preparation =
      isPrepared
      ? []
      : [MigrationStep(.preparation, name: "prepare", sql: Self.preparation(rolePrefix: rolePrefix))]
    return preparation
      + pending.map { MigrationStep(.migration($0.number), name: $0.name, sql: $0.text) }
      + outdatedFunctions.map { MigrationStep(.functions, name: $0.name, sql: $0.text) }
  }

  /// What makes the roles, the schema and the migrator's tables, as a session would run it that goes on with the steps.
  private static func preparation(rolePrefix: String?) -> String {
    [
      SQLFiles.required("migrator/session.sql"), setup(rolePrefix: rolePrefix),
      SQLFiles.required("migrator/owner.sql"),
      SQLFiles.required("migrator/prepare.sql"),
    ].joined(separator: "\n").replacing("SET LOCAL ", with: "SET ")
  }

  /// What makes the roles and the schema.
  static func setup(rolePrefix: String?) -> String {
    let setup = SQLFiles.required("migrator/setup.sql")
    guard let rolePrefix else { return setup }
    return "SET LOCAL analysis.role_prefix = '\(rolePrefix.replacing("'", with: "''"))';\n" + setup
  }

  /// Refuses migrations that were edited, are missing between others or are unknown here.
  func check() throws(JobQueueError) {
    try checkSource()
    try checkBaseline()
    try checkReleased()
    for migration in source.migrations {
      guard let record = applied.first(where: { $0.number == migration.number }) else { continue }
      guard record.checksum == SHA256.hexadecimal(of: migration.text) else {
        throw JobQueueError(
          .migrationEdited,
          "Migration \(migration.name) was edited after it had been applied to this database.",
          advice: "Restore its text, and put the change into a new migration.")
      }
    }
    if let first = unknown.first {
      let names = applied.filter { unknown.contains($0.number) }.map(\.name).joined(separator: ", ")
      guard first > source.version else {
        throw JobQueueError(
          .migrationUnknown, "The database has migrations that this program does not know: \(names).",
          advice: "Use the program that belongs to this database.")
      }
      throw JobQueueError(
        .schemaTooNew, "The database's schema is newer than this program: it also has \(names).",
        advice: "Upgrade this program.")
    }
    if let last = applied.last?.number, let gap = pending.first(where: { $0.number < last }) {
      throw JobQueueError(
        .migrationGap, "Migration \(gap.name) was never applied, but number \(last) was.",
        advice: "Give it a number above \(last), or restore the database's record of migrations.")
    }
  }

  /// Refuses a schema that was made before version 1.0 was released.
  private func checkBaseline() throws(JobQueueError) {
    let known = source.baselineChecksums
    if applied.contains(where: { $0.number <= source.baseline && known[$0.number] != $0.checksum }) {
      throw JobQueueError(
        .schemaTooOld, "The database's schema is from before version 1.0 and cannot be upgraded.",
        advice: "Run analysisctl migrate on a new, empty database.")
    }
  }

  /// Refuses a schema that was made by a program between two releases: the migrations of a release replace those that it
  /// had, under the same numbers and other names.
  private func checkReleased() throws(JobQueueError) {
    let names = Dictionary(source.migrations.map { ($0.number, $0.name) }, uniquingKeysWith: { $1 })
    let strange = applied.first { $0.number > source.baseline && (names[$0.number] ?? $0.name) != $0.name }
    guard let strange, source.baseline > 0 else { return }
    throw JobQueueError(
      .schemaTooOld,
      "The database was made by a development version: it has the migration \(strange.name), which no release has.",
      advice: "Run analysisctl migrate on a new, empty database, or on one that a release made. "
        + "This one works with the program that made it.")
  }

  private func checkSource() throws(JobQueueError) {
    var seen: Set<Int> = []
    for migration in source.migrations where !seen.insert(migration.number).inserted {
      throw JobQueueError(.invalid, "Two migrations have the number \(migration.number).")
    }
  }

  /// The version, if a worker of this program can work with it: its own, the one before or the one after.
  func compatibleVersion() throws(JobQueueError) -> Int {
    let found = applied.last?.number ?? 0
    guard found > 0 else {
      throw JobQueueError(
        .schemaMissing, "The database has no schema of the queue yet.", advice: "Run analysisctl migrate.")
    }
    try checkBaseline()
    try checkReleased()
    let before = source.migrations.map(\.number).filter { $0 >= source.baseline }.dropLast().last
    if found == source.version || found == before { return found }
    if found < source.version {
      throw JobQueueError(
        .schemaTooOld,
        "The database's schema is version \(found); this program needs \(before ?? source.version)"
          + " or \(source.version).",
        advice: "Upgrade the database first: run analysisctl migrate of this version.")
    }
    guard applied.filter({ $0.number > source.version }).count == 1 else {
      throw JobQueueError(
        .schemaTooNew,
        "The database's schema is version \(found), more than one after this program's \(source.version).",
        advice: "Upgrade this program.")
    }
    return found
  }
}

/// What a database has of the schema, and what this program would change.
public struct SchemaStatus: Sendable, Equatable {
  /// A migration that was applied.
  struct Applied: Sendable, Equatable {
    /// Its number.
    public let number: Int
    /// Its name when it was applied.
    public let name: String
    /// The checksum of its text when it was applied.
    let checksum: String
    /// When it was applied, in seconds since 1970.
    public let at: Double
  }

  /// The highest number that was applied; 0 in an empty database.
  public var version: Int { applied.last?.number ?? 0 }
  /// The migrations that were applied, by number.
  let applied: [Applied]
  /// The names of the migrations still to be applied, by number.
  public let pending: [String]
  /// The names of the function groups that are missing or were changed since.
  public let outdatedFunctions: [String]
  /// The numbers of applied migrations that this program does not know.
  public let unknown: [Int]

  /// Whether a migrator of this program would change nothing.
  var isCurrent: Bool { pending.isEmpty && outdatedFunctions.isEmpty && unknown.isEmpty }
}
