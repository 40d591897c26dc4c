import AnalysisCore
import PostgreSQL

/// What an interactor asks the database, every choice made.
struct ReportQuestion: Sendable {
  let month: Period
  /// The zone to show times in as PostgreSQL spells it; nil for each user's billing zone.
  let zone: String?
  /// The moment of the report by the server's clock.
  let moment: Timestamp
  /// What the audit's entry of this reading is known by; nil for a report that has none.
  let reading: String?
}
