internal import PostgreSQL
internal import Queue
internal import Support

/// An analysis as the queue has stored it.
struct StoredAnalysis: Sendable, Equatable {
  let job: JobID
  let kind: AnalysisKind
  /// When the job was submitted, and when it ended, in seconds since 1970.
  let createdAt: Double
  let finishedAt: Double
  /// The stored conditions.
  let conditions: [JSONValue]
  let model: String?
  let callMilliseconds: Int?

  /// Records that results are read, each with a token of its user; answers what asks for them, nil for nothing to read.
  static func opening(_ jobs: [(token: AppToken, job: JobID)], shard: Int16) -> Statement<String?> {
    Statement(
      SQLFunction("gateway_open_results", 3),
      [.int16(shard), .array(jobs.map(\.token.hash)), .array(jobs.map(\.job.value))],
      while: "recording that results are read"
    ) { rows in try rows.single().stringIfPresent("gateway_open_results") }
  }

  /// Records that a page of a user's history is read, the newest analyses first.
  static func openingHistory(_ token: AppToken, before: JobID?, limit: Int) -> Statement<String?> {
    Statement(
      SQLFunction("gateway_open_history", 4),
      [.int16(token.shard), .bytes(token.hash), .int64(before?.value), .int32(Int32(clamping: limit))],
      while: "recording that a history is read"
    ) { rows in try rows.single().stringIfPresent("gateway_open_history") }
  }

  /// Reads what was recorded.
  static func reading(
    _ reading: String, _ tokens: [AppToken], shard: Int16
  ) -> Statement<[StoredAnalysis]> {
    Statement(
      SQLFunction(
        "gateway_results", 3, "o_job", "o_kind", "o_created_at", "o_finished_at", "o_conditions", "o_model",
        "o_call_ms"),
      [.int16(shard), .array(tokens.map(\.hash)), .text(reading)], while: "reading results"
    ) { rows in try rows.map { try StoredAnalysis($0) } }
  }

  init(_ row: Row) throws {
    job = try row.jobID("o_job")
    kind = try row.named("o_kind", AnalysisKind.self)
    createdAt = try row.seconds("o_created_at")
    finishedAt = try row.seconds("o_finished_at")
    guard let conditions = try JSONReader.read(Array(row.jsonText("o_conditions").utf8)).elements else {
      throw JobQueueError(.unexpectedAnswer, "The conditions of job \(job) are no list.")
    }
    self.conditions = conditions.map(\.value)
    model = try row.stringIfPresent("o_model")
    callMilliseconds = try row.int32IfPresent("o_call_ms").map(Int.init)
  }
}

/// What became of a job that somebody waits for.
enum JobEnd: Sendable, Equatable {
  case analysed(StoredAnalysis)
  /// It died, or was cancelled; the reason is a stable word, the message the endpoint's.
  case failed(reason: String, message: String)
}

/// Where a job of the user of a token is.
struct AppJobState: Sendable, Equatable {
  /// As the queue names states: `waiting`, `running`, `scheduled`, `succeeded`, `dead`, `cancelled`.
  let state: String
  let reason: String?
  let message: String?

  /// Whether it is at its end without an analysis.
  var failure: JobEnd? { Self.failure(state, reason: reason, message: message) }

  static func failure(_ state: String, reason: String?, message: String?) -> JobEnd? {
    switch state {
    case "dead": .failed(reason: reason ?? "dead", message: message ?? "The analysis failed.")
    case "cancelled": .failed(reason: "cancelled", message: "The analysis was cancelled.")
    default: nil
    }
  }

  /// Asks for one; nil for a job that there is not, or that is another user's.
  static func statement(_ token: AppToken, _ job: JobID) -> Statement<AppJobState?> {
    Statement(
      SQLFunction("gateway_states", 3, "o_job", "o_state", "o_reason", "o_message"),
      [.int16(token.shard), .bytes(token.hash), .array([job.value])], while: "asking where a job is"
    ) { rows in
      try rows.first.map { row in
        AppJobState(
          state: try row.string("o_state"), reason: try row.stringIfPresent("o_reason"),
          message: try row.stringIfPresent("o_message"))
      }
    }
  }
}
