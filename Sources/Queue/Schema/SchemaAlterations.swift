import PostgreSQL
import Support

/// What the server has of the functions and triggers of the schema.
struct PresentSchema: Sendable {
  /// A function as the server keeps it.
  struct Function: Sendable {
    let definition: FunctionDefinition
    /// Its owner, if that is not the schema's.
    let foreignOwner: String?
    /// The roles that may call it beside the owner.
    let callers: [String]
  }

  /// A trigger as the server keeps it; nil where something else of the kind is in its place.
  struct Trigger: Sendable {
    let table: String
    let name: String
    let isEnabled: Bool
    let definition: TriggerDefinition?
  }

  let functions: [Function]
  let triggers: [Trigger]
  /// The functions that each role may call.
  let granted: [String: Set<String>]

  /// Asks the server's own catalog, and what each role may call.
  static func read(_ database: some Queryable) async throws(JobQueueError) -> PresentSchema {
    PresentSchema(
      functions: try await Statement(
        file: "migrator/present.sql", while: "reading the functions"
      ) { rows in
        try rows.map { row in
          Function(
            definition: FunctionDefinition(
              name: try row.string("name"), parameters: try row.int("parameters"),
              body: try row.string("body"),
              hasOwnersRights: try row.bool("has_owners_rights"),
              settings: Set(try row.array("settings", of: String.self).map(FunctionDefinition.setting))),
            foreignOwner: try row.stringIfPresent("foreign_owner"),
            callers: try row.array("callers", of: String.self))
        }
      }.run(on: database),
      triggers: try await Statement(
        file: "migrator/triggers.sql", while: "reading the triggers"
      ) { rows in
        try rows.map { row in
          Trigger(
            table: try row.string("relation"), name: try row.string("name"),
            isEnabled: try row.bool("is_enabled"),
            definition: TriggerDefinition(try row.string("definition")))
        }
      }.run(on: database),
      granted: try await Statement(
        file: "migrator/grants.sql", while: "reading the rights of roles"
      ) { rows in
        Dictionary(try rows.map { (try $0.string("role"), Set(try $0.array("functions", of: String.self))) })
        {
          $0.union($1)
        }
      }.run(on: database))
  }
}

extension SchemaState {
  /// The functions and triggers that the database should have as this program knows them, and has not, each with what is
  /// another: somebody replaced, dropped, disabled or opened them by hand. Groups that are to be applied anew are left out.
  func altered(_ present: PresentSchema) -> [String] {
    var functions: [FunctionDefinition] = []
    var triggers: [TriggerDefinition] = []
    let known = Set(applied.map(\.number))
    for migration in source.migrations where known.contains(migration.number) {
      FunctionDefinition.apply(migration.text, to: &functions)
      TriggerDefinition.apply(migration.text, to: &triggers)
    }
    for group in source.functions {
      var ofGroup: [FunctionDefinition] = []
      FunctionDefinition.apply(group.text, to: &ofGroup)
      if self.functions[group.name] == SHA256.hexadecimal(of: group.text) {
        FunctionDefinition.apply(group.text, to: &functions)
      } else {
        // Of this group the database has another state, which is said elsewhere.
        functions.removeAll { old in ofGroup.contains { $0.name == old.name } }
      }
    }
    return Set(functions.compactMap { fault(of: $0, present) } + faults(of: triggers, present)).sorted()
  }

  private func fault(of expected: FunctionDefinition, _ present: PresentSchema) -> String? {
    let found = present.functions.first {
      $0.definition.name == expected.name && $0.definition.parameters == expected.parameters
    }
    guard let found, found.definition.body == expected.body else { return expected.name }
    var differences: [String] = []
    if found.definition.hasOwnersRights != expected.hasOwnersRights { differences.append("rights") }
    if found.definition.settings != expected.settingsInForce { differences.append("settings") }
    if let owner = found.foreignOwner { differences.append("owner \(owner)") }
    let strangers = found.callers.filter { !(present.granted[$0]?.contains(expected.name) ?? false) }
    if !strangers.isEmpty { differences.append("open to \(strangers.joined(separator: ", "))") }
    return differences.isEmpty ? nil : "\(expected.name) (\(differences.joined(separator: "; ")))"
  }

  private func faults(of expected: [TriggerDefinition], _ present: PresentSchema) -> [String] {
    let missing = expected.compactMap { trigger -> String? in
      let found = present.triggers.first { $0.table == trigger.table && $0.name == trigger.name }
      guard let found else { return "trigger \(trigger.name) of \(trigger.table) (missing)" }
      guard found.definition == trigger else { return "trigger \(trigger.name) of \(trigger.table)" }
      return found.isEnabled ? nil : "trigger \(trigger.name) of \(trigger.table) (disabled)"
    }
    let strange = present.triggers.filter { found in
      !expected.contains { $0.table == found.table && $0.name == found.name }
    }
    return missing + strange.map { "\($0.name) of \($0.table) (unknown)" }
  }
}
