/// What is totalled, in the order of the report and of the columns of its statement.
enum SummaryMeasure: String, Sendable, CaseIterable {
  case users
  case activeUsers = "active_users"
  case used
  case over
  case analysed
  case open
  case failed
  case cancelled
  case refunded
  case refused
  case calls
  case adjusted
  case throat
  case ear
  case serious
  case consult
  case withoutCondition = "without_condition"
  case normal
  case green
  case yellow
  case orange
  case red
}
