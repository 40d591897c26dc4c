import AnalysisCore
import PostgreSQL

/// What a report is, beside its rows; known in full when the last row is written.
struct ReportMeta: Equatable, Sendable {
  let kind: ReportKind
  let month: Period
  /// The zone in which times are shown; nil for each user's billing zone.
  let zone: String?
  let state: ReportState
  /// The moment of the report in UTC as RFC 3339 has it: for a closed statement the moment of its closing,
  /// so that it comes out the same for ever.
  let generatedAt: String
  /// Since when results of the month have been removed; nil while it is whole, or where that changes nothing.
  var removedSince: Timestamp?
  var rows = 0

  /// The zone as JSON names it.
  var zoneText: String { zone ?? "billing" }

  /// The fields in the order in which they are written.
  var fields: [(String, JSONText.Value)] {
    [
      ("report", .text(kind.rawValue)), ("month", .text(month.description)), ("zone", .text(zoneText)),
      ("state", .text(state.rawValue)), ("rows", .number(Int64(rows))), ("generated_at", .text(generatedAt)),
    ] + removal
  }

  /// What a file without rows would not tell: that there were some.
  private var removal: [(String, JSONText.Value)] {
    guard let removedSince else { return [] }
    return [
      ("results_removed_since", .text(LocalTime.utcText(microseconds: removedSince.microsecondsSince1970)))
    ]
  }
}
