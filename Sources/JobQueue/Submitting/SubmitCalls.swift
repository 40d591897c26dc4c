import AnalysisCore
import PostgreSQL

/// One call of `submit`: jobs of one shard, with their places in what the caller gave.
struct SubmitCall: Sendable {
  var shard: Int16
  var items: [(index: Int, submission: Submission)] = []
  var bytes = 0

  /// Whether the call may be repeated when its answer was lost.
  var isIdempotent: Bool { items.allSatisfy { $0.submission.key != nil } }

  /// Puts submissions into calls, each of one shard and within the limits, each shard's in the order given.
  static func calls(
    of items: [(index: Int, submission: Submission)], shards: [String: Int16], limits: SubmitLimits
  ) -> [SubmitCall] {
    var calls: [SubmitCall] = []
    var open: [Int16: Int] = [:]
    for item in items {
      guard let shard = shards[item.submission.user] else { continue }
      let bytes = item.submission.image.byteCount
      if let place = open[shard], calls[place].items.count < limits.maximumCount,
        calls[place].bytes + bytes <= limits.maximumBytes
      {
        calls[place].items.append(item)
        calls[place].bytes += bytes
      } else {
        open[shard] = calls.count
        calls.append(SubmitCall(shard: shard, items: [item], bytes: bytes))
      }
    }
    return calls
  }

  /// Whether an image of the call is encrypted.
  var hasEncrypted: Bool { items.contains { $0.submission.image.storedKey != nil } }

  /// The statement; its answer has an outcome for each job, in the call's order.
  func statement(maxAttempts: Int) -> Statement<[SubmitOutcome]> {
    let items = items.map(\.submission)
    let storedKeys = hasEncrypted ? items.map(\.image.storedKey) : nil
    let encrypting: [Parameter] = [
      storedKeys.map { storedKeys in .array(storedKeys.map { $0?.keyID }) } ?? .nullArray(of: Int64.self),
      storedKeys.map { storedKeys in .array(storedKeys.map { $0?.wrappedKey }) }
        ?? .nullArray(of: [UInt8].self),
    ]
    return Statement(
      QueueSQL.submit,
      [
        .int16(shard), .array(items.map(\.user)), .array(items.map(\.kind.code)),
        .array(items.map(\.priority.slot)), .array(items.map(\.image.sha256)),
        .array(items.map(\.image.bytes)),
        .array(items.map(\.image.width)), .array(items.map(\.image.height)),
        .array(items.map(\.image.isUnsanitized)),
        .array(items.map(\.key)), .array(items.map { timestamp($0.runAt) }),
        .array(items.map { timestamp($0.expiresAt) }), .array(items.map(\.sourceName)),
        .int16(Int16(clamping: maxAttempts)),
      ] + encrypting, while: "submitting jobs"
    ) { rows in
      let outcomes = try rows.map { try SubmitOutcome($0, of: items) }
      guard outcomes.count == items.count else {
        throw JobQueueError(
          .unexpectedAnswer, "The database answered \(outcomes.count) outcomes for \(items.count) jobs.")
      }
      return outcomes
    }
  }
}

extension SubmitOutcome {
  /// Reads a row of `sql/queue/submit.sql`.
  fileprivate init(_ row: Row, of items: [Submission]) throws {
    let outcome = try row.string(1)
    switch outcome {
    case "created": self = .created(try row.jobID(3), try row.period(4))
    case "duplicate": self = .duplicate(try row.jobID(3))
    default:
      let place = try row.int(0) - 1
      guard outcome == "refused", items.indices.contains(place) else {
        throw JobQueueError(.unexpectedAnswer, "The database answered a submit with \(outcome).")
      }
      self = .refused(
        Refusal(
          code: try row.stringIfPresent(2) ?? "other", user: items[place].user,
          limit: try row.int32IfPresent(5).map(Int.init), used: try row.int32IfPresent(6).map(Int.init)))
    }
  }
}

extension SubmittedImage {
  fileprivate var bytes: [UInt8]? {
    if case .bytes(let bytes, _, _, _, _, _) = self { bytes } else { nil }
  }
  fileprivate var width: Int32? {
    if case .bytes(_, _, let width, _, _, _) = self { Int32(clamping: width) } else { nil }
  }
  fileprivate var height: Int32? {
    if case .bytes(_, _, _, let height, _, _) = self { Int32(clamping: height) } else { nil }
  }
  fileprivate var isUnsanitized: Bool {
    if case .bytes(_, _, _, _, let unsanitized, _) = self { unsanitized } else { false }
  }
}
