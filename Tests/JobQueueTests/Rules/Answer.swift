/// What a submit says of one job.
struct Answer: Sendable, Equatable {
  let outcome: String
  let reason: String?
  let job: Int64?
  let period: Int16?
  let limit: Int?
  let used: Int?
}
