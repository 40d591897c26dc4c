import CommandLineTool
import PostgreSQL
import Queue
import Support

enum MigrateCommand {
  static let rolePrefix = Option<String?>(
    "role-prefix", .string,
    help:
      "With what the names of the database's roles begin, for another installation on the same server. It is set by "
      + "the first migration and kept.")
  static let dryRun = Flag("dry-run", help: "Print all the SQL that would be run, and run none of it.")

  static let command = ControlCommand(
    "migrate", abstract: "Make the database's schema, or bring it up to date.",
    discussion: """
      Each step is a transaction of its own; a run that is broken off is carried on by the next, and two at \
      once are safe. A migration that was edited after it had been applied is refused. A step waits 2 s at most for a \
      lock, since others wait behind it; then it says who has it, lets them through and tries again, for an hour.

      The roles of the installation (analysis_owner, analysis_worker and so on) are made too. They belong to the whole \
      server, and an ordinary login may not make them: then it says what an administrator has to run once.
      """,
    examples: [
      Example("analysisctl migrate", "Apply what is missing."),
      Example("analysisctl migrate --dry-run", "Read it first."),
    ],
    inputs: [rolePrefix, dryRun],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission], keepsEnd: false
  ) { context in
    let (isDryRun, rolePrefix) = (try context[dryRun], try context[rolePrefix])
    return try await context.withSession(schema: .none) { session in
      let migrator = Migrator(session.database, rolePrefix: rolePrefix)
      let steps =
        isDryRun
        ? try await migrator.plan()
        : try await migrator.migrate({ _ in }, waiting: { session.console.say($0.message) })
      let version = try await migrator.status().version
      return try session.show(
        MigrateResponse(script: isDryRun ? migrator.script(of: steps) : nil, steps: steps, version: version))
    }
  }
}

/// What was run, or would be; a dry run as SQL that psql would run as it stands.
struct MigrateResponse: Sendable, Equatable, Presentable {
  /// All that would be run; nil where it was.
  let script: String?
  let steps: [MigrationStep]
  /// The schema's version now.
  let version: Int

  private var isDryRun: Bool { script != nil }

  var json: JSONValue {
    var facts: [JSONValue.Member] = [
      .init(name: "dry_run", value: .bool(isDryRun)), .init(name: "version", value: .count(version)),
      .init(
        name: "steps",
        value: .array(
          steps.map { step in
            [
              "name": .string(step.name), "kind": .string(step.kindName), "sha256": .string(step.checksum),
              "sql": isDryRun ? .string(step.sql) : .null,
            ]
          })),
    ]
    if let script { facts.append(.init(name: "script", value: .string(script))) }
    return .object(facts)
  }

  func text(width: Int?, paint: Paint) -> String {
    let line = "The schema is up to date (version \(version))."
    if let script {
      return (steps.isEmpty ? "-- \(line) What is run all the same:\n" : "") + script
    }
    if steps.isEmpty { return line + "\n" }
    return steps.map { "applied \($0.kindName) \($0.name)\n" }.joined()
      + "The schema is at version \(version).\n"
  }
}

extension MigrationWait {
  /// Says what a step waits for, and who has it.
  fileprivate var message: String {
    let holders = blockers.map { blocker in
      let name =
        blocker.process.map { "process \($0)" }
        ?? "prepared transaction \(printable(blocker.prepared ?? "?"))"
      let role = blocker.role.map { " of role \(printable($0))" } ?? ""
      let since = blocker.since.map { ", open since \(Moment.short($0))" } ?? ""
      return name + role + since
    }
    let what = self.object.map { " for \(printable($0))" } ?? " for a lock"
    let who = holders.isEmpty ? "" : ", which is held by " + holders.joined(separator: "; ")
    return "\(step) waits\(what)\(who). It is tried again until they end."
  }
}

extension MigrationStep {
  fileprivate var kindName: String {
    switch kind {
    case .preparation: "preparation"
    case .migration: "migration"
    case .functions: "functions"
    }
  }
}

/// Whether the schema is one that this program can work with, and as this program would have made it.
struct SchemaChecks: DatabaseCheck {
  let group = "schema"

  /// What is known of it.
  struct Facts: Sendable, Equatable {
    let status: SchemaStatus
    let altered: [String]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let migrator = Migrator(database.pool, deadline: AskedDatabase.deadline)
    do {
      _ = try await migrator.requireCompatible()
    } catch {
      guard Self.unfit.contains(error.code) else { throw error }
      return [.wrong("schema.version", error.message, error.advice ?? "Run analysisctl migrate.")]
    }
    return Self.judge(
      Facts(status: try await migrator.status(), altered: try await migrator.altered()))
  }

  private static let unfit: Set<JobQueueError.Code> = [.schemaMissing, .schemaTooOld, .schemaTooNew]

  static func judge(_ facts: Facts) -> [Finding] {
    [version(facts.status), functions(facts)]
  }

  private static func version(_ status: SchemaStatus) -> Finding {
    let (check, name) = ("schema.version", "the schema is at version \(status.version)")
    if !status.unknown.isEmpty {
      return .warning(
        check, "\(name), one after this program's \(Migrator.version), which still works with it",
        "Upgrade this program.")
    }
    guard status.pending.isEmpty else {
      return .warning(
        check, "\(name), one before this program's \(Migrator.version), which still works with it",
        "Run analysisctl migrate.")
    }
    return .ok(check, name)
  }

  private static func functions(_ facts: Facts) -> Finding {
    let check = "schema.functions"
    if !facts.altered.isEmpty {
      return .wrong(
        check, "somebody changed or dropped by hand: \(list(facts.altered))",
        "Find out who did. Functions are applied anew by DELETE FROM analysis.schema_function and analysisctl migrate; what "
          + "a role may call beside, take away with REVOKE; triggers restore as the migrations have them.")
    }
    // A newer schema has newer functions.
    if !facts.status.outdatedFunctions.isEmpty, facts.status.unknown.isEmpty {
      return .warning(
        check, "groups of functions differ from this program's: \(list(facts.status.outdatedFunctions))",
        "Run analysisctl migrate of the version that the workers have.")
    }
    return .ok(check, "the functions are this program's")
  }

  static func list(_ names: [String]) -> String {
    names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
  }
}

/// Whether the coming months can take jobs.
struct PartitionCheck: DatabaseCheck {
  let group = "partitions"
  let needsSchema = true

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let missing = try await database.rows("partitions").map { row in
      (month: Period(label: try row.int16(0))?.description ?? "?", ahead: try row.int(1))
    }
    return [Self.judge(months: missing.map(\.month), ahead: missing.map(\.ahead).min())]
  }

  /// - Parameter ahead: how many months ahead the first missing one is; nil when none is.
  static func judge(months: [String], ahead: Int?) -> Finding {
    guard let ahead else { return .ok("partitions", "made for this month and three ahead") }
    let message = "partitions are missing for \(months.joined(separator: ", "))"
    let advice =
      "Start a worker, which makes them within the hour, or run analysisctl migrate; if partition_made "
      + "lists the month, somebody dropped its tables: restore them."
    // Somebody's zone may be in the next month already.
    return ahead <= 1
      ? .wrong("partitions", "\(message): submits of these months are refused", advice)
      : .warning("partitions", message, advice)
  }
}
