import SQLFiles

/// The statements of `sql/queue`, `sql/users` and `sql/migrator`, read once.
package enum QueueSQL {
  static let claim = text("queue/claim.sql")
  static let work = text("queue/work.sql")
  static let complete = text("queue/complete.sql")
  static let fail = text("queue/fail.sql")
  static let submit = text("queue/submit.sql")
  static let images = text("queue/images.sql")
  static let heartbeat = text("queue/heartbeat.sql")
  static let partitions = text("queue/partitions.sql")

  /// The text of a file below `sql/`.
  ///
  /// A file that is missing from the build gives a text that the server refuses by name, so that the
  /// fault shows where it is used.
  package static func text(_ path: String) -> String {
    SQLFiles.text(path) ?? "missing from this program: \(path)"
  }
}
