import PostgreSQL
import Queue

/// A value in the database that holds for the whole installation.
struct Setting: Sendable, Equatable, RenamedColumns {
  static let columns = ["standard": "default", "emptyMeaning": "empty"]

  /// Its name, for instance `keep_images`.
  let name: String
  /// What it is now.
  let value: String
  /// What it is until somebody changes it.
  let standard: String
  /// What an empty value means, for instance `for ever`; nil where it may not be empty.
  let emptyMeaning: String?
  /// What it is for.
  let meaning: String
}

/// The settings of an installation. What each may be is in `analysis.check_setting_value`.
struct SettingDirectory: Sendable {
  private let database: ConnectionPool

  /// The settings of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Every setting.
  func list() async throws(JobQueueError) -> [Setting] {
    try await Statement(
      SQLFunction("list_settings", 0), as: [Setting].self, while: "listing the settings"
    ).run(on: database)
  }

  /// What a setting is now, where it can be changed to a value. Nothing is changed.
  ///
  /// - Throws: `badRow` with the rule, where it cannot have this value.
  func preview(_ name: String, value: String) async throws(JobQueueError) -> String {
    try await Statement(
      SQLFunction("preview_setting", 2), [.text(name), .text(storable(value))], as: String.self,
      while: "looking at setting \(name)"
    ).run(on: database)
  }

  /// Changes a setting; false, and nothing is changed, where it is not `before` any more.
  ///
  /// - Throws: `badRow` with the rule, where it cannot have this value.
  func set(
    _ name: String, value: String, before: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("set_setting", 3), [.text(name), .text(storable(value)), .text(before)], as: Bool.self,
      while: "changing setting \(name)"
    ).run(on: database, as: actor)
  }
}
