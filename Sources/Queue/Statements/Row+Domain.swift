public import PostgreSQL
public import Support

extension JobID: ColumnValue {
  /// The job of a number.
  public init(stored: Int64) { self.init(stored) }
}

extension BatchID: ColumnValue {
  /// The batch of a number.
  public init(stored: Int64) { self.init(stored) }
}

extension Period: ColumnValue {
  /// The month of a label.
  public init(stored: Int16) throws {
    guard let period = Period(label: stored) else { throw UnknownValue("month", stored) }
    self = period
  }
}

extension AnalysisKind: ColumnValue {
  /// The type of a number.
  public init(stored: Int16) throws {
    guard let kind = AnalysisKind(code: stored) else { throw UnknownValue("type", stored) }
    self = kind
  }
}

extension Lane: ColumnValue {
  /// The lane of a number.
  public init(stored: Int16) throws {
    guard let lane = Lane(code: stored) else { throw UnknownValue("lane", stored) }
    self = lane
  }
}

extension ClinicKind: ColumnValue {
  /// What a clinic is; one of another kind is shown as a clinic.
  public init(stored: String) { self = ClinicKind(rawValue: stored) ?? .clinic }
}

extension ConfidenceBand: ColumnValue {
  /// The band of a number.
  public init(stored: Int16) throws {
    guard let band = ConfidenceBand(code: stored) else { throw UnknownValue("band", stored) }
    self = band
  }
}

extension JobState: ColumnValue {}
extension Priority: ColumnValue {}

extension Row {
  /// The row as a type: each property is read from the column of its name, `o_created_at` for `createdAt`.
  ///
  /// - Parameter beside: properties that the row has no column for.
  package func decode<T: Decodable>(_ type: T.Type, beside: [String: (any Sendable)?] = [:]) throws -> T {
    try decode(type, prefix: SQLFunction.prefix, beside: beside)
  }
}

extension Rows {
  /// The answer as a type, as a ``Statement`` has it.
  package func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try decode(type, prefix: SQLFunction.prefix)
  }
}

/// Reads the domain's values column by column where there are very many rows, and refuses what this program does not know.
extension Row {
  package func jobID(_ column: some ColumnKey) throws(PostgreSQLError) -> JobID {
    JobID(try int64(column))
  }

  package func period(_ column: some ColumnKey) throws -> Period { try Period(stored: int16(column)) }

  package func kind(_ column: some ColumnKey) throws -> AnalysisKind {
    try AnalysisKind(stored: int16(column))
  }

  package func lane(_ column: some ColumnKey) throws -> Lane { try Lane(stored: int16(column)) }

  /// A moment in seconds since 1970.
  package func seconds(_ column: some ColumnKey) throws(PostgreSQLError) -> Double {
    try timestamp(column).secondsSince1970
  }

  /// A moment in seconds since 1970; nil for NULL.
  func secondsIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Double? {
    try timestampIfPresent(column)?.secondsSince1970
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
