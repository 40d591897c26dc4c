internal import HTTPServing
internal import PostgreSQL
internal import Queue
internal import Support

/// What an app reads: the shapes of the endpoint's API, so that an app which speaks to an endpoint speaks to the queue.
enum AnswerShapes {
  /// Where an analysis is asked for.
  static func path(_ job: JobID) -> String { "/api/analyses/\(job)" }

  /// A finished analysis.
  ///
  /// - Parameter imageBytes: How many bytes of photo were sent; nil where that is not known any more.
  static func analysis(_ analysis: StoredAnalysis, of user: AppUser, imageBytes: Int? = nil) -> JSONValue {
    var debug: [JSONValue.Member] = [
      .init(name: "data_source", value: .string(analysis.model ?? "analysis-queue"))
    ]
    if let imageBytes { debug.append(.init(name: "image_data_length", value: .count(imageBytes))) }
    if let time = analysis.callMilliseconds {
      debug.append(.init(name: "processing_time", value: .count(time)))
    }
    return [
      "id": .string(analysis.job.description), "type": .string(analysis.kind.rawValue),
      "timestamp": .string(moment(analysis.finishedAt)),
      "conditions": .array(analysis.conditions.map(condition)), "user": .string(user.reference),
      "user_id": .string(user.reference), "debug_info": .object(debug),
    ]
  }

  /// One of a history.
  static func historyEntry(_ analysis: StoredAnalysis) -> JSONValue {
    [
      "id": .string(analysis.job.description), "type": .string(analysis.kind.rawValue),
      "conditions": .array(analysis.conditions.map(condition)),
      "created_at": .string(moment(analysis.createdAt)), "timestamp": .string(moment(analysis.finishedAt)),
    ]
  }

  /// A job that has no analysis, or none yet.
  static func job(_ job: AppJob) -> JSONValue {
    [
      "id": .string(job.job.description), "type": .string(job.kind),
      "status": .string(AppJobState(state: job.state).status), "created_at": .string(moment(job.createdAt)),
      "location": .string(path(job.job)),
    ]
  }

  /// A condition as the API names its members. An app of the API's guide reads an answer only where each of them is
  /// there: what the endpoint did not say is empty, and a flag that it did not raise is not raised.
  static func condition(_ stored: JSONValue) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "id", value: stored["id"] ?? ""), .init(name: "name", value: stored["name"] ?? ""),
      .init(name: "confidence", value: stored["confidence"] ?? 0),
      .init(name: "description", value: stored["description"] ?? ""),
      .init(name: "symptoms", value: stored["symptoms"] ?? []),
      .init(name: "isPotentiallySerious", value: stored["serious"] ?? false),
      .init(name: "recommendConsultation", value: stored["consult"] ?? false),
    ]
    for (name, kept) in [("treatmentInfo", "treatment"), ("recommendationText", "recommendation")] {
      if let value = stored[kept] { members.append(.init(name: name, value: value)) }
    }
    let band = stored["band"]?.text.flatMap(ConfidenceBand.init)
    if let mark = ConditionMark(band, isNormal: stored["normal"] == true) {
      members.append(.init(name: "band", value: .string(mark.rawValue)))
    }
    return .object(members)
  }

  /// A job that ended without an analysis: without conditions, so that no app takes it for a finding, and in words for
  /// the patient. Why it ended so is the operator's to know.
  static func failure(_ job: JobID, _ failure: JobFailure) -> JSONValue {
    [
      "id": .string(job.description), "error": true, "message": .string(failure.message),
      "code": .string(failure.rawValue),
    ]
  }

  /// A job that has not ended: 202, with the address to ask at. An app that knows no 202 shows the message.
  static func pending(_ job: JobID, status: String) -> HTTPAnswer {
    var answer = HTTPAnswer.json(
      202,
      [
        "id": .string(job.description), "status": .string(status), "location": .string(path(job)),
        "message":
          "Your photo is being analysed. The result will be in your history. Please do not send it again.",
      ])
    answer.headers = [("Location", path(job)), ("Retry-After", "2")]
    return answer
  }

  /// How a job has ended.
  static func end(_ end: JobEnd, _ job: JobID, of user: AppUser, imageBytes: Int? = nil) -> JSONValue {
    switch end {
    case .analysed(let analysis): self.analysis(analysis, of: user, imageBytes: imageBytes)
    case .failed(let failure): self.failure(job, failure)
    }
  }

  static func profile(_ user: AppUser) -> JSONValue {
    [
      // An app reads a profile only where both are there.
      "id": .string(user.reference), "email": .string(user.email ?? user.reference),
      "name": .string(user.name ?? user.reference),
      "subscription": .string(subscription(user)), "analysisCount": .count(user.used),
      "analysisLimit": .count(user.limit ?? .noLimit), "lastResetDate": .string(moment(user.monthStart)),
    ]
  }

  /// What a user has left of the month.
  static func subscriptionStatus(_ user: AppUser) -> JSONValue {
    [
      "subscription": .string(subscription(user)), "analysisCount": .count(user.used),
      "analysisLimit": .count(user.limit ?? .noLimit),
      "analysisRemaining": .count(user.limit.map { max(0, $0 - user.used) } ?? .noLimit),
      "lastResetDate": .string(moment(user.monthStart)),
    ]
  }

  /// The API knows two plans: one with a monthly limit and one without.
  private static func subscription(_ user: AppUser) -> String { user.limit == nil ? "premium" : "free" }

  /// A time as the client of the API's guide reads it: without a fraction of a second.
  static func moment(_ seconds: Double) -> String { UnixTime(secondsSince1970: seconds).rfc3339Seconds }
}

/// What is said of the month's limit in the headers of each answer to a user who has one.
enum LimitHeaders {
  static let limit = "X-Analysis-Limit"
  static let remaining = "X-Analysis-Remaining"
  /// From 80 % of it on: 80 or 100.
  static let reached = "X-Analysis-Limit-Reached"

  /// The share of the limit that is reported: 80 or 100 percent, as `analysis.limit_level` has it; nil below 80.
  static func level(used: Int, limit: Int) -> Int? {
    used <= 0 || used * 5 < limit * 4 ? nil : used < limit ? 80 : 100
  }

  static func of(used: Int, limit: Int?) -> [(name: String, value: String)] {
    guard let limit else { return [] }
    let known = [(name: Self.limit, value: String(limit)), (remaining, String(max(0, limit - used)))]
    return known + (level(used: used, limit: limit).map { [(reached, String($0))] } ?? [])
  }
}

/// An analysis as the queue has stored it.
struct StoredAnalysis: Sendable, Equatable {
  let job: JobID
  let kind: AnalysisKind
  /// When the job was submitted, and when it ended, in seconds since 1970.
  let createdAt: Double
  let finishedAt: Double
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
  /// It died, or was cancelled.
  case failed(JobFailure)
}

/// How a job ended without an analysis, as far as an app has to know.
enum JobFailure: String, Sendable, Equatable {
  case died = "ANALYSIS_FAILED"
  case cancelled = "ANALYSIS_CANCELLED"

  /// The words for the patient.
  var message: String {
    switch self {
    case .died: "The photo could not be analysed. Please take it again."
    case .cancelled: "The analysis was cancelled. Ask your clinic why."
    }
  }
}

/// Where a job of the user of a token is.
struct AppJobState: Sendable, Equatable, Decodable {
  /// As the queue names states: `waiting`, `running`, `scheduled`, `succeeded`, `dead`, `cancelled`.
  let state: String

  /// As apps know it, while there is no analysis.
  var status: String {
    switch state {
    case "running", "cancelled": state
    case "dead": "failed"
    default: "queued"
    }
  }

  /// Whether it is at its end without an analysis.
  var failure: JobEnd? {
    switch state {
    case "dead": .failed(.died)
    case "cancelled": .failed(.cancelled)
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

/// One of a user's last jobs that has no analysis.
struct AppJob: Sendable, Decodable {
  let job: JobID
  let kind, state: String
  let createdAt: Double

  static func statement(_ token: AppToken) -> Statement<[AppJob]> {
    Statement(
      SQLFunction("gateway_jobs", 2), [.int16(token.shard), .bytes(token.hash)], as: [AppJob].self,
      while: "asking for jobs without an analysis")
  }
}
