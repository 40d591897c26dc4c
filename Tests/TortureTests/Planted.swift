@testable import Support
@testable import TortureKit

/// A history without a fault in it, into which tests plant one.
struct Planted {
  var records: [SubmitRecord] = []
  var facts = DatabaseFacts()
  var calls: [EndpointCall] = []
  var crashes = ServerCrashes()

  /// Ten jobs that were acknowledged, called for once and analysed.
  init() {
    for number in 1...10 { add(JobID(Int64(number))) }
  }

  mutating func add(
    _ id: JobID, user: String = "u", key: String? = nil, outcome: SubmitRecord.Outcome? = nil,
    place: DatabaseFacts.Job.Place = .analysed
  ) {
    let tag = "tag-\(id)"
    records.append(SubmitRecord(tag: tag, user: user, key: key, outcome: outcome ?? .created(id)))
    facts.jobs.append(DatabaseFacts.Job(id: id, shard: 0, user: user, tag: tag, place: place))
    guard place == .analysed else { return }
    facts.attempts.append(DatabaseFacts.Attempt(job: id, failure: nil, calls: 1))
    call(id)
  }

  mutating func call(_ id: JobID, status: Int = 200, _ outcome: String = "analysis") {
    calls.append(EndpointCall(key: "mark-throat-0-\(id)", status: status, outcome: outcome))
  }

  mutating func failed(_ id: JobID, _ failure: String, calls: Int = 1) {
    facts.attempts.append(DatabaseFacts.Attempt(job: id, failure: failure, calls: calls))
  }

  var submits: SubmitChecks { SubmitChecks(records: records, jobs: facts.jobs) }
  var callChecks: CallChecks { CallChecks(facts: facts, calls: calls, crashes: crashes) }

  /// The rules that are broken.
  var broken: [String] {
    (submits.findings() + callChecks.findings() + RuleChecks(facts: facts).findings()).filter { !$0.holds }
      .map(\.rule)
  }
}
