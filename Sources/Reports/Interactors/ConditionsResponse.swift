import AnalysisCore

/// How often one condition was found in a month, counted over all conditions of each analysis.
struct ConditionsResponse: Equatable, Sendable {
  let month: Period
  let id: String
  /// The name among people; of several, the first in byte order.
  let name: String
  /// Whether it is the absence of a finding. An id that was normal at one time and a finding at another has
  /// a row for each.
  let isNormal: Bool
  let green: Int64
  let yellow: Int64
  let orange: Int64
  let red: Int64
  /// How often in all.
  let total: Int64
}
