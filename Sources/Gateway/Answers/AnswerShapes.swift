internal import HTTPServing
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

  /// The user.
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
