/// A kind of work, which is a group role of the database that cannot log in. A login gets it by GRANT.
public enum DatabaseRole: String, CaseIterable, Sendable {
  /// Owns the schema.
  case owner
  /// Submits, and reads the results of what it names.
  case submitter
  /// Runs `analysis-worker`.
  case worker
  /// Reads the reports that are counts, and closes months.
  case reporter
  /// Reads jobs, their results and the report of analyses.
  case clinician
  /// Pauses, retries and cancels, and reads why jobs failed.
  case `operator`
  /// Looks after users, plans and clinics.
  case administrator
  /// Reads the audit and recounts.
  case auditor
  /// Exports and erases what is kept of a person.
  case privacy
  /// Removes what is past its time.
  case retention

  /// Its name in an installation whose roles begin with a prefix.
  public func name(prefix: String) -> String { "\(prefix)_\(rawValue)" }
}
