import FoundationEssentials
import StandIn

/// A line of the endpoint's log: one upload that it answered.
struct EndpointCall: Sendable, Equatable, Decodable {
  /// The `Idempotency-Key`.
  let key: String?
  let status: Int
  /// `analysis`, a class of fault, or `status-401` and the like.
  let outcome: String

  /// What the keys of calls begin with that no worker made: those of jobs that were there before the run.
  static let planted = "planted"

  /// The job's shard and number, with which its key ends.
  var job: String { (key ?? "").split(separator: "-").suffix(2).joined(separator: "-") }

  /// Whether the answer was an analysis that may be stored, if it arrived.
  var wasAnalysis: Bool { Self.analyses.contains(outcome) }

  /// Whether only the token was refused. Such a call comes before another of the same attempt.
  var refusedToken: Bool { status == 401 }

  /// The kind of fault that it was; nil when nothing was wrong.
  var fault: String? {
    if outcome == "analysis" || Self.unusual.contains(outcome) { return nil }
    return "answer-\(outcome)"
  }

  private static let unusual = Set(AnswerFaults.valid.map(\.rawValue))
  private static let analyses = unusual.union(["analysis", FaultClass.slow.rawValue])

  /// Reads the lines of a log. One without its end is one that the endpoint died over, and no answer was sent for it; the
  /// endpoint that was started next goes on behind it.
  static func lines(_ log: [UInt8]) throws -> [EndpointCall] {
    let decoder = JSONDecoder()
    let whole = log.lastIndex(of: UInt8(ascii: "\n")).map { log[...$0] } ?? []
    return try whole.split(separator: UInt8(ascii: "\n")).map { line in
      let begins = line.ranges(of: Array(#"{"time":"#.utf8)).last?.lowerBound ?? line.startIndex
      return try decoder.decode(EndpointCall.self, from: Data(line[begins...]))
    }
  }
}
