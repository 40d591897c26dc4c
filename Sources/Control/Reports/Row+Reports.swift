import PostgreSQL
import Support

/// From when until when a period is, each moment with what the clocks of its zone show then.
struct Span: Decodable {
  let starts, ends, startsLocal, endsLocal: Timestamp

  var from: LocalTime { LocalTime(starts, local: startsLocal) }
  var until: LocalTime { LocalTime(ends, local: endsLocal) }
}

extension LocalTime {
  /// A moment and its local time, which the statement answers as if it were UTC.
  init(_ moment: Timestamp, local: Timestamp) {
    self.init(microseconds: moment.microsecondsSince1970, local: local.microsecondsSince1970)
  }
}

extension Timestamp {
  /// The moment in UTC, to the second.
  var rfc3339: String { UnixTime(secondsSince1970: secondsSince1970).rfc3339Seconds }
}

extension ReportsError {
  /// A number in the database for which this program has no meaning.
  static func unknown(_ what: String, _ number: some CustomStringConvertible) -> ReportsError {
    ReportsError(
      .schema, "the database holds a \(what) numbered \(number), which this program does not know",
      advice: "use the release that wrote it, or a later one")
  }
}

extension FieldReader {
  /// A moment and, in the next column, its local time, which the statement answers as if it were UTC.
  mutating func localTime() throws -> LocalTime {
    LocalTime(
      microseconds: try timestamp().microsecondsSince1970, local: try timestamp().microsecondsSince1970)
  }

  /// The same of a moment that may be missing.
  mutating func localTimeIfPresent() throws -> LocalTime? {
    guard let moment = try timestampIfPresent() else {
      try skip(1)
      return nil
    }
    return LocalTime(
      microseconds: moment.microsecondsSince1970, local: try timestamp().microsecondsSince1970)
  }

  /// A type by its number. Throws `schema` for a number that is none.
  mutating func kind() throws -> AnalysisKind {
    let code = try int16()
    guard let kind = AnalysisKind(code: code) else { throw ReportsError.unknown("type", Int64(code)) }
    return kind
  }

  /// A condition: its id, name, confidence, band, and whether it is normal; nil when there is none. Throws
  /// `schema` for a confidence or band that is none.
  mutating func finding() throws -> AnalysesRow.Finding? {
    guard let id = try textIfPresent() else {
      try skip(4)
      return nil
    }
    let name = try text()
    guard let confidence = Confidence(try double()) else {
      throw ReportsError(.schema, "the database holds a confidence that is not from 0 to 1")
    }
    let code = try int16()
    guard let band = ConfidenceBand(code: code) else { throw ReportsError.unknown("band", Int64(code)) }
    return AnalysesRow.Finding(
      id: id, name: name, confidence: confidence, band: band, isNormal: try boolIfPresent() ?? false)
  }
}
