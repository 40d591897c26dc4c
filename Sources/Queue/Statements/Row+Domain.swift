package import PostgreSQL
package import Support

/// Reads the domain's values from a row, and refuses numbers that this program does not know.
extension Row {
  package func jobID(_ column: some ColumnKey) throws(PostgreSQLError) -> JobID {
    JobID(try int64(column))
  }

  package func period(_ column: some ColumnKey) throws -> Period {
    let label = try int16(column)
    guard let period = Period(label: label) else { throw Self.unknown("month", label) }
    return period
  }

  package func kind(_ column: some ColumnKey) throws -> AnalysisKind {
    let code = try int16(column)
    guard let kind = AnalysisKind(code: code) else { throw Self.unknown("type", code) }
    return kind
  }

  package func lane(_ column: some ColumnKey) throws -> Lane {
    try Lane(known: int16(column))
  }

  /// A moment in seconds since 1970.
  package func seconds(_ column: some ColumnKey) throws(PostgreSQLError) -> Double {
    try timestamp(column).secondsSince1970
  }

  /// A moment in seconds since 1970; nil for NULL.
  package func secondsIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Double? {
    try timestampIfPresent(column)?.secondsSince1970
  }

  /// A value of an enumeration that the database names by text.
  package func named<Value: RawRepresentable<String>>(_ column: some ColumnKey, _ type: Value.Type) throws
    -> Value
  {
    let text = try string(column)
    guard let value = Value(rawValue: text) else {
      throw JobQueueError(
        .unexpectedAnswer, "The database named a \(type) that this program does not know: \(text).",
        advice: "Use the program's version that belongs to the schema.")
    }
    return value
  }

  fileprivate static func unknown(_ what: String, _ code: Int16) -> JobQueueError {
    JobQueueError(
      .unexpectedAnswer, "The database named a \(what) that this program does not know: \(code).",
      advice: "Use the program's version that belongs to the schema.")
  }
}

extension Lane {
  /// A lane by its number, which the database named.
  package init(known code: Int16) throws {
    guard let lane = Lane(code: code) else { throw Row.unknown("lane", code) }
    self = lane
  }
}

/// A point in time as the parameter of a statement.
package func timestamp(_ seconds: Double?) -> Timestamp? {
  seconds.map { Timestamp(secondsSince1970: $0) }
}

/// A duration in whole milliseconds, never negative.
package func milliseconds(_ duration: Duration) -> Int64 {
  max(0, duration.milliseconds)
}

/// Text without the one character that PostgreSQL cannot hold.
package func storable(_ text: String) -> String {
  text.contains("\0") ? text.replacing("\0", with: "\u{FFFD}") : text
}
