import AnalysisCore
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

  /// The same of a moment that may be missing.
  func localTimeIfPresent(_ column: String, local: String) throws -> LocalTime? {
    try isNull(column) ? nil : try localTime(column, local: local)
  }

  /// A kind by its number. Throws `schema` for a number that is none.
  func kind(_ column: String) throws -> AnalysisKind {
    let code = try int16(column)
    guard let kind = AnalysisKind(code: code) else { throw ReportsError.unknown("kind", Int64(code)) }
    return kind
  }

  /// The condition whose columns begin with a name; nil when there is none. Throws `schema` for a
  /// confidence or band that is none.
  func finding(_ name: String) throws -> AnalysesResponse.Finding? {
    guard let id = try stringIfPresent("\(name)_id") else { return nil }
    let code = try int16("\(name)_band")
    guard let band = ConfidenceBand(code: code) else { throw ReportsError.unknown("band", Int64(code)) }
    guard let confidence = Confidence(try double("\(name)_confidence")) else {
      throw ReportsError(.schema, "the database holds a confidence that is not from 0 to 1")
    }
    return AnalysesResponse.Finding(
      id: id, name: try string("\(name)_name"), confidence: confidence, band: band,
      isNormal: try boolIfPresent("\(name)_normal") ?? false)
  }
}

extension Timestamp {
  /// The moment in the count that Unix uses.
  var microsecondsSince1970: Int64 { microsecondsSince2000 + 946_684_800_000_000 }
}

extension ReportsError {
  /// A number in the database for which this program has no meaning.
  static func unknown(_ what: String, _ number: Int64) -> ReportsError {
    ReportsError(
      .schema, "the database holds a \(what) numbered \(number), which this program does not know",
      advice: "use the release that wrote it, or a later one")
  }
}
