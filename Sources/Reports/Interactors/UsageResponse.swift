import AnalysisCore
import Formatting

/// What one user used in one month.
struct UsageResponse: Equatable, Sendable {
  /// What a row is about.
  enum Line: String, Sendable {
    /// The month itself.
    case month
    /// What changed in an earlier month since it was stated.
    case adjustment
  }

  let user: String
  /// The month that the numbers are of: the one asked for, or the earlier one that is adjusted.
  let month: Period
  let line: Line
  /// The plan's name among programs; nil on adjustments and for a user without a plan.
  let plan: String?
  let planName: String?
  /// The monthly limit; nil for none.
  let limit: Int64?
  /// Units taken and not given back, those of open jobs among them; on adjustments, as all numbers there,
  /// by how much it changed.
  let used: Int64
  /// Units used beyond the limit at the month's end, which a limit lowered within the month brings about.
  let over: Int64
  /// Jobs with a result; nil on adjustments, as the others that do not touch a bill.
  let analysed: Int64?
  let failed: Int64?
  let cancelled: Int64?
  /// Units given back for jobs that died or were cancelled.
  let refunded: Int64
  /// Submits refused by the quota.
  let refused: Int64
  /// Calls of the endpoint, repeated ones among them.
  let calls: Int64?
  /// When the month began for this user.
  let lastReset: LocalTime
  /// The user's billing zone.
  let zone: String

  /// Units that may still be taken; nil without a limit.
  var remaining: Int64? { limit.map { max(0, $0 - used) } }

  /// Jobs without a result that did not fail: what is used is either analysed or open.
  var open: Int64? { analysed.map { used - $0 } }
}
