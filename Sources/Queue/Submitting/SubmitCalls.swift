import PostgreSQL
import Support

/// One call of `submit`: jobs of one shard, with their indices in what the caller gave.
struct SubmitCall: Sendable {
  var shard: Int16
  /// The batch that the jobs are of; nil for none.
  var batch: BatchID?
  var items: [(index: Int, submission: Submission)] = []
  var bytes = 0

  /// Whether the call may be repeated when its answer was lost.
  var isIdempotent: Bool { items.allSatisfy { $0.submission.key != nil } }

  /// Puts submissions into calls, each of one shard and within the limits, each shard's in the order given. Images that
  /// are objects are in calls of their own.
  static func calls(
    of items: [(index: Int, submission: Submission)], shards: [String: Int16], batch: BatchID? = nil,
    limits: SubmitLimits
  ) -> [SubmitCall] {
    var calls: [SubmitCall] = []
    var open: [Bool: [Int16: Int]] = [:]
    for item in items {
      guard let shard = shards[item.submission.user] else { continue }
      let bytes = item.submission.image.byteCount
      let isObject = item.submission.image.object != nil
      if let index = open[isObject]?[shard], calls[index].items.count < limits.maximumCount,
        calls[index].bytes + bytes <= limits.maximumBytes
      {
        calls[index].items.append(item)
        calls[index].bytes += bytes
      } else {
        open[isObject, default: [:]][shard] = calls.count
        calls.append(SubmitCall(shard: shard, batch: batch, items: [item], bytes: bytes))
      }
    }
    return calls
  }

  /// Whether an image of the call is encrypted.
  var hasEncrypted: Bool { items.contains { $0.submission.image.storedKey != nil } }

  /// What a call answers.
  struct Answer: Sendable {
    /// What became of each job, in the call's order.
    var outcomes: [SubmitOutcome]
    /// Whether its transaction has woken the workers.
    var hasWoken: Bool
  }

  /// Whether images of the call are objects.
  private var hasObjects: Bool { items.contains { $0.submission.image.object != nil } }

  /// Whether jobs get labels, their batch or references, or images are objects. They go another way then, which can wake
  /// the workers too.
  var isLabelled: Bool {
    batch != nil || hasObjects || items.contains { $0.submission.reference != nil }
  }

  /// Whether it is one job without a label: its call has no arrays then, which costs the server less.
  var isSingle: Bool { items.count == 1 && !isLabelled }

  /// The statement of a single job.
  func statementOfOne(maxAttempts: Int) -> Statement<Answer> {
    let item = items[0].submission
    let image = item.image
    return Statement(
      Self.single,
      [
        .int16(shard), .bytes(image.bytes), .text(item.user), .int16(item.kind.code),
        .int16(item.priority.slot), .bytes(image.sha256), .int32(image.width), .int32(image.height),
        .bool(image.isUnsanitized), .text(item.key), .timestamp(timestamp(item.runAt)),
        .timestamp(timestamp(item.expiresAt)), .text(item.sourceName), .int64(image.storedKey?.keyID),
        .bytes(image.storedKey?.wrappedKey), .int16(Int16(clamping: maxAttempts)),
      ], while: "submitting jobs"
    ) { rows in
      Answer(outcomes: [try SubmitOutcome(try rows.single(), from: 0, of: item)], hasWoken: false)
    }
  }

  /// The statement.
  ///
  /// - Parameter wakes: whether workers are to be woken, if the call can do so itself.
  func statement(maxAttempts: Int, wakes: Bool = false) -> Statement<Answer> {
    let items = items.map(\.submission)
    let storedKeys = hasEncrypted ? items.map(\.image.storedKey) : nil
    let encrypting: [Parameter] = [
      storedKeys.map { storedKeys in .array(storedKeys.map { $0?.keyID }) } ?? .nullArray(of: Int64.self),
      storedKeys.map { storedKeys in .array(storedKeys.map { $0?.wrappedKey }) }
        ?? .nullArray(of: [UInt8].self),
    ]
    let images: Parameter = .array(items.map(\.image.bytes))
    let attempts: Parameter = .int16(Int16(clamping: maxAttempts))
    let asked: [Parameter] = [
      .array(items.map(\.user)), .array(items.map(\.kind.code)), .array(items.map(\.priority.slot)),
      .array(items.map(\.image.sha256)),
    ]
    let known: [Parameter] = [
      .array(items.map(\.image.width)), .array(items.map(\.image.height)),
      .array(items.map(\.image.isUnsanitized)),
      .array(items.map(\.key)), .array(items.map { timestamp($0.runAt) }),
      .array(items.map { timestamp($0.expiresAt) }), .array(items.map(\.sourceName)),
    ]
    // A submit without a batch and without references is the same call as ever.
    let isLabelled = isLabelled
    var parameters: [Parameter] = isLabelled ? [.int64(batch?.value), .int16(shard)] : [.int16(shard)]
    parameters += asked
    if isLabelled {
      parameters += known + encrypting
      let lengths: Parameter =
        hasObjects
        ? .array(items.map { $0.image.object.map { Int32(clamping: $0.byteCount) } })
        : .nullArray(of: Int32.self)
      parameters += [.array(items.map(\.reference)), lengths, images, attempts, .bool(wakes)]
    } else {
      parameters.append(images)
      parameters += known
      parameters.append(attempts)
      parameters += encrypting
    }
    return Statement(
      isLabelled ? Self.labelling : Self.function, parameters, while: "submitting jobs"
    ) { rows in
      var outcomes: [SubmitOutcome?] = Array(repeating: nil, count: items.count)
      for row in rows {
        let index = try row.int(0) - 1
        guard items.indices.contains(index) else { continue }
        outcomes[index] = try SubmitOutcome(row, from: 1, of: items[index])
      }
      let found = outcomes.compactMap { $0 }
      guard found.count == items.count else {
        throw JobQueueError(
          .unexpectedAnswer, "The database answered \(found.count) outcomes for \(items.count) jobs.")
      }
      let answer = isLabelled ? rows.first : nil
      return Answer(outcomes: found, hasWoken: try answer?.boolIfPresent("o_woken") ?? false)
    }
  }
}

extension SubmitCall {
  private static let function = SQLFunction(
    "submit", 16, "o_index", "o_outcome", "o_reason", "o_job", "o_period", "o_limit", "o_used")
  private static let single = SQLFunction(
    "submit_one", 4, "outcome", "reason", "job_id", "period", "quota", "used"
  ).withRow(at: 2, columns: 13)
  private static let labelling = SQLFunction(
    "submit_in_batch", 6, "o_index", "o_outcome", "o_reason", "o_job", "o_period", "o_limit", "o_used",
    "o_woken"
  ).withRow(at: 2, columns: 15)
}

extension SubmitOutcome {
  /// Reads a row of an answer, from a column on: in the order in which the calls name them.
  fileprivate init(_ row: Row, from first: Int, of item: Submission) throws {
    let outcome = try row.string(first)
    switch outcome {
    case "created": self = .created(try row.jobID(first + 2), try row.period(first + 3))
    case "duplicate": self = .duplicate(try row.jobID(first + 2))
    case "refused":
      self = .refused(
        Refusal(
          code: try row.stringIfPresent(first + 1) ?? "other", user: item.user,
          limit: try row.int32IfPresent(first + 4).map(Int.init),
          used: try row.int32IfPresent(first + 5).map(Int.init)))
    default:
      throw JobQueueError(.unexpectedAnswer, "The database answered a submit with \(outcome).")
    }
  }
}

extension SubmittedImage {
  /// What is sent: the image itself, or the key of the object that it is.
  fileprivate var bytes: [UInt8]? {
    switch self {
    case .bytes(let bytes, _, _, _, _, _): bytes
    case .object(let object, _, _, _, _): Array(object.key.utf8)
    case .known: nil
    }
  }
  fileprivate var width: Int32? {
    switch self {
    case .bytes(_, _, let width, _, _, _), .object(_, _, let width, _, _): Int32(clamping: width)
    case .known: nil
    }
  }
  fileprivate var height: Int32? {
    switch self {
    case .bytes(_, _, _, let height, _, _), .object(_, _, _, let height, _): Int32(clamping: height)
    case .known: nil
    }
  }
  fileprivate var isUnsanitized: Bool {
    if case .bytes(_, _, _, _, let unsanitized, _) = self { unsanitized } else { false }
  }
}
