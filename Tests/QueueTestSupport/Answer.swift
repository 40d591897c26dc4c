/// What a submit says of one job.
package struct Answer: Sendable, Equatable {
  package let outcome: String
  package let reason: String?
  package let job: Int64?
  package let period: Int16?
  package let limit: Int?
  package let used: Int?

  package init(outcome: String, reason: String?, job: Int64?, period: Int16?, limit: Int?, used: Int?) {
    self.outcome = outcome
    self.reason = reason
    self.job = job
    self.period = period
    self.limit = limit
    self.used = used
  }
}
