import PostgreSQL
import Queue
import Support

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
