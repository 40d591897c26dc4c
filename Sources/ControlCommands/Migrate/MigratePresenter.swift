import CommandLineTool
import Formatting
import JobQueue

/// Puts migrations into words; a dry run into SQL that psql would run as it stands.
enum MigratePresenter: Presenter {
  static func json(_ response: MigrateResponse) -> JSONValue {
    [
      "dry_run": .bool(response.isDryRun), "version": .count(response.version),
      "steps": .array(
        response.steps.map { step in
          [
            "name": .string(step.name), "kind": .string(kind(step)), "sha256": .string(step.checksum),
            "sql": response.isDryRun ? .string(step.sql) : .null,
          ]
        }),
    ]
  }

  static func text(_ response: MigrateResponse, width: Int?, paint: Paint) -> String {
    if response.steps.isEmpty {
      let line = "The schema is up to date (version \(response.version))."
      return response.isDryRun ? "-- \(line)\n" : line + "\n"
    }
    if response.isDryRun {
      return response.steps.map { step in
        let sql = step.sql.last == "\n" ? step.sql : step.sql + "\n"
        return "-- \(kind(step)) \(step.name)\n\(sql)\n"
      }.joined()
    }
    return response.steps.map { "applied \(kind($0)) \($0.name)\n" }.joined()
      + "The schema is at version \(response.version).\n"
  }

  /// Says what a step waits for, and who has it.
  static func words(of wait: MigrationWait) -> String {
    let holders = wait.blockers.map { blocker in
      let name =
        blocker.process.map { "process \($0)" }
        ?? "prepared transaction \(printable(blocker.prepared ?? "?"))"
      let role = blocker.role.map { " of role \(printable($0))" } ?? ""
      let since = blocker.since.map { ", open since \(Moment.short($0))" } ?? ""
      return name + role + since
    }
    let object = wait.object.map { " for \(printable($0))" } ?? " for a lock"
    let who = holders.isEmpty ? "" : ", which is held by " + holders.joined(separator: "; ")
    return "\(wait.step) waits\(object)\(who). It is tried again until they end."
  }

  private static func kind(_ step: MigrationStep) -> String {
    switch step.kind {
    case .preparation: "preparation"
    case .migration: "migration"
    case .functions: "functions"
    }
  }
}
