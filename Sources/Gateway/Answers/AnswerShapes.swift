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
    for (name, kept) in [
      ("treatmentInfo", "treatment"), ("recommendationText", "recommendation"), ("band", "band"),
    ] {
      if let value = stored[kept] { members.append(.init(name: name, value: value)) }
    }
    return .object(members)
  }

  /// A job that ended without an analysis, as the API answers a failed model: with one condition that is none. It lacks
  /// what each condition has, so that no app takes it for a finding.
  static func failure(_ job: JobID, reason: String, message: String) -> JSONValue {
    [
      "id": .string(job.description), "error": true, "message": .string(message),
      "conditions": [
        [
          "id": "analysis_error", "name": "Analysis failed", "confidence": 0, "isError": true,
          "error": .string(message), "diagnostic": ["reason": .string(reason)],
        ]
      ],
    ]
  }

  /// A job that has not ended: 202, with the address to ask at.
  static func pending(_ job: JobID, status: String) -> HTTPAnswer {
    var answer = HTTPAnswer.json(
      202,
      [
        "id": .string(job.description), "status": .string(status), "location": .string(path(job)),
        "message": .string("The analysis is not finished yet. Ask again at \(path(job))."),
      ])
    answer.headers = [("Location", path(job)), ("Retry-After", "2")]
    return answer
  }

  /// How a job has ended.
  static func end(_ end: JobEnd, _ job: JobID, of user: AppUser, imageBytes: Int? = nil) -> JSONValue {
    switch end {
    case .analysed(let analysis): self.analysis(analysis, of: user, imageBytes: imageBytes)
    case .failed(let reason, let message): failure(job, reason: reason, message: message)
    }
  }

  static func profile(_ user: AppUser) -> JSONValue {
    [
      // An app reads a profile only where both are there.
      "id": .string(user.reference), "email": .string(user.email ?? user.reference),
      "name": .string(user.name ?? user.reference),
      "subscription": .string(subscription(user)), "analysisCount": .count(user.used),
      "analysisLimit": .count(user.limit), "lastResetDate": .string(moment(user.monthStart)),
    ]
  }

  /// What a user has left of the month.
  static func subscriptionStatus(_ user: AppUser) -> JSONValue {
    [
      "subscription": .string(subscription(user)), "analysisCount": .count(user.used),
      "analysisLimit": .count(user.limit),
      "analysisRemaining": .count(user.limit.map { max(0, $0 - user.used) }),
      "lastResetDate": .string(moment(user.monthStart)),
    ]
  }

  /// The API knows two plans: one with a monthly limit and one without.
  private static func subscription(_ user: AppUser) -> String { user.limit == nil ? "premium" : "free" }

  private static func moment(_ seconds: Double) -> String { UnixTime(secondsSince1970: seconds).rfc3339 }
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
