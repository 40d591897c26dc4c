import Logging

extension Log {
  /// Writes what the server said beside its answers.
  ///
  /// A WARNING is for whoever runs the command. What is below it (NOTICE, INFO, LOG, DEBUG) is no news: that
  /// a schema is there already, for instance, which each migration is told.
  func serverSaid(_ message: String, severity: String) {
    let fields: Fields = ["severity": .string(severity), "notice": .string(message)]
    if Self.isMinor(severity) {
      debug("the database says", fields)
    } else {
      warning("the database says", fields)
    }
  }

  /// PostgreSQL's severities below WARNING; `DEBUG` comes with a number from 1 to 5 in its settings, but not
  /// in what it sends.
  private static func isMinor(_ severity: String) -> Bool {
    ["NOTICE", "INFO", "LOG", "DEBUG"].contains(severity)
  }
}
