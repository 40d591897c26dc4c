/// One job of a claim.
struct Claimed: Sendable, Equatable {
  let lease: Int64
  let lane: Int16
  let job: Int64
  let period: Int16
  let attempt: Int16
  let virtualTime: Int64
  let user: Int64
  let isExpired: Bool
}
