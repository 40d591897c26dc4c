import AnalysisCore
import Formatting
import PostgreSQL

extension Row {
  /// A month's label. Throws `schema` for a number that is none.
  func month(_ column: String) throws -> Period {
    let label = try int16(column)
    guard let month = Period(label: label) else { throw ReportsError.unknown("month", Int64(label)) }
    return month
  }

  /// A moment and its local time, which the statement answers as if it were UTC.
  func localTime(_ column: String, local: String) throws -> LocalTime {
    LocalTime(
      microseconds: try timestamp(column).microsecondsSince1970,
      local: try timestamp(local).microsecondsSince1970)
  }
}

extension Timestamp {
  /// The moment in UTC, to the second.
  var rfc3339: String { UnixTime(secondsSince1970: secondsSince1970).rfc3339Seconds }
}

extension ReportsError {
  /// A number in the database for which this program has no meaning.
  static func unknown(_ what: String, _ number: Int64) -> ReportsError {
    ReportsError(
      .schema, "the database holds a \(what) numbered \(number), which this program does not know",
      advice: "use the release that wrote it, or a later one")
  }
}
