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
      as: String?.self, while: "recording that results are read")
  }

  /// Records that a page of a user's history is read, the newest analyses first.
  static func openingHistory(_ token: AppToken, before: JobID?, limit: Int) -> Statement<String?> {
    Statement(
      SQLFunction("gateway_open_history", 4),
      [.int16(token.shard), .bytes(token.hash), .int64(before?.value), .int32(Int32(clamping: limit))],
      as: String?.self, while: "recording that a history is read")
  }

  /// Reads what was recorded.
  static func reading(
    _ reading: String, _ tokens: [AppToken], shard: Int16
  ) -> Statement<[StoredAnalysis]> {
    Statement(
      SQLFunction("gateway_results", 3), [.int16(shard), .array(tokens.map(\.hash)), .text(reading)],
      as: [StoredAnalysis].self, while: "reading results")
  }
}

extension StoredAnalysis: Decodable {
  private struct Columns: Decodable {
    let job: JobID
    let kind, conditions: String
    let createdAt, finishedAt: Double
    let model: String?
    let callMs: Int?
  }

  /// Reads a row of `analysis.gateway_results` or `analysis.gateway_shared_results`.
  init(from decoder: any Decoder) throws {
    let row = try Columns(from: decoder)
    guard let kind = AnalysisKind(rawValue: row.kind) else { throw UnknownValue("AnalysisKind", row.kind) }
    guard let conditions = try JSONReader.read(Array(row.conditions.utf8)).elements else {
      throw JobQueueError(.unexpectedAnswer, "The conditions of job \(row.job) are no list.")
    }
    self.init(
      job: row.job, kind: kind, createdAt: row.createdAt, finishedAt: row.finishedAt,
      conditions: conditions.map(\.value), model: row.model, callMilliseconds: row.callMs)
  }
}

/// What became of a job that somebody waits for.
enum JobEnd: Sendable, Equatable {
  case analysed(StoredAnalysis)
  /// It died, or was cancelled; the reason is a stable word, the message the endpoint's.
  case failed(reason: String, message: String)
}

/// Where a job of the user of a token is.
struct AppJobState: Sendable, Equatable, Decodable {
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
      SQLFunction("gateway_states", 3), [.int16(token.shard), .bytes(token.hash), .array([job.value])],
      as: AppJobState?.self, while: "asking where a job is")
  }
}
