/// One job of a claim.
package struct Claimed: Sendable, Equatable {
  package let lease: Int64
  package let lane: Int16
  package let job: Int64
  package let period: Int16
  package let attempt: Int16
  package let virtualTime: Int64
  package let user: Int64
  package let isExpired: Bool

  package init(
    lease: Int64, lane: Int16, job: Int64, period: Int16, attempt: Int16, virtualTime: Int64, user: Int64,
    isExpired: Bool
  ) {
    self.lease = lease
    self.lane = lane
    self.job = job
    self.period = period
    self.attempt = attempt
    self.virtualTime = virtualTime
    self.user = user
    self.isExpired = isExpired
  }
}
