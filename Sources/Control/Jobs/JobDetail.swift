import FoundationEssentials
import PostgreSQL
import Queue
import Support

/// All that is kept of a job.
struct JobDetail: Sendable, Equatable {
  /// The line of the list.
  let summary: JobSummary
  /// The attempts that failed, in order.
  let attempts: [AttemptRecord]
  /// The analysis; nil while there is none.
  var result: StoredResult?
  /// Whether there is an analysis that this login may not read.
  var isResultHidden = false
  /// Why it died; nil unless it is dead.
  let death: JobDeath?
  /// Who has it; nil unless it runs.
  var holder: JobHolder?
  /// The batch that it is of; nil for none.
  var batch: BatchID?
  /// What the submitter calls it; nil for nothing.
  var reference: String?
  /// By what the reading of its analysis is known, for whatever else is read with it; nil: it was not read.
  var reading: String?
}

/// The worker that has a running job, as far as it is known.
struct JobHolder: Sendable, Equatable, RenamedColumns {
  static let columns = ["heartbeatAgo": "silentSeconds"]

  /// The worker's number, as its log and the status name it.
  let worker: Int64
  /// Its machine; nil before its first sign of life.
  let host: String?
  /// Its process; nil before its first sign of life.
  let pid: Int?
  let version: String?
  /// When it started, in seconds since 1970.
  let startedAt: Double?
  /// How many seconds ago it was last heard of.
  let heartbeatAgo: Double?
  /// Until when the job is its own, unless it moves that on, in seconds since 1970.
  let deadline: Double
  /// Where it sends jobs of the type, as it last reported.
  let endpoints: [String]

  /// Its machine and process; nil before its first sign of life.
  var name: String? { Self.name(host: host, pid: pid) }

  /// The same for people; the worker's number before its first sign of life.
  var text: String { name ?? "number \(worker)" }

  /// A worker's machine and process.
  static func name(host: String?, pid: Int?) -> String? {
    host.map { [$0, pid.map { "\($0)" }].compactMap { $0 }.joined(separator: " ") }
  }
}

/// An attempt that failed.
struct AttemptRecord: Sendable, Equatable, RenamedColumns {
  static let columns = ["failureClass": "class"]

  /// Which attempt it was, from 1.
  let attempt: Int
  /// When it was recorded, in seconds since 1970.
  let at: Double
  /// The class of failure, as it is stored.
  let failureClass: String
  let code: String?
  let message: String?
  /// The endpoint's number of the error.
  let errorID: String?
  let status: Int?
  /// Calls of the endpoint.
  let calls: Int
  /// Whether the endpoint may have counted a call.
  let maybeCounted: Bool
  /// Whether the attempt counts.
  let consumed: Bool
  let endpoint: String?
  /// The number of the worker that had the job.
  let worker: Int64
  /// Its machine; nil where nothing is known of it any more.
  let host: String?
  let pid: Int?

  /// Its machine and process, for a person: its number where that is all that is known.
  var workerText: String { workerName ?? "number \(worker)" }
  /// Its machine and process.
  var workerName: String? { JobHolder.name(host: host, pid: pid) }
}

/// An analysis as it is stored.
struct StoredResult: Sendable, Equatable, RenamedColumns {
  /// The columns of the database, whose names are short.
  static let columns = [
    "conditionsJSON": "conditions", "isSerious": "serious", "advisesConsultation": "consult",
    "endpointSaysSerious": "endpointSerious", "endpointAdvisesConsultation": "endpointConsult",
    "callMilliseconds": "callMs",
  ]

  /// The analysis's id at the endpoint.
  let analysisID: String
  /// When the endpoint says that it answered, in seconds since 1970.
  let answeredAt: Double?
  /// When it was stored, in seconds since 1970.
  let finishedAt: Double
  /// The conditions, as the JSON array that is stored.
  let conditionsJSON: String
  /// Whether it is serious by the setting `consult_from`; nil when no condition says.
  let isSerious: Bool?
  /// Whether it advises a doctor by the setting `consult_from`; nil when no condition says.
  let advisesConsultation: Bool?
  /// Whether the endpoint says so of any condition; nil when it says of none.
  let endpointSaysSerious: Bool?
  /// Whether the endpoint recommends a doctor for any condition; nil when it says of none.
  let endpointAdvisesConsultation: Bool?
  /// Calls of the endpoint in the attempt that succeeded.
  let calls: Int
  /// How long the call took, in milliseconds.
  let callMilliseconds: Int?
  /// What the endpoint says of its model.
  let model: String?
  let endpoint: String?
  /// The version of the worker.
  let version: String?
  let attempt: Int

  /// Each of its four flags in words, those of the endpoint last; nil where no condition says. The endpoint means any
  /// condition, and the setting `consult_from` those that are sure enough.
  var flags: [String?] {
    func text(_ flag: Bool?) -> String? { flag.map { $0 ? "yes" : "no" } }
    let why = "no: the endpoint says so of no condition that is sure enough (setting consult_from)"
    return [
      isSerious == false && endpointSaysSerious == true ? why : text(isSerious),
      advisesConsultation == false && endpointAdvisesConsultation == true ? why : text(advisesConsultation),
      text(endpointSaysSerious), text(endpointAdvisesConsultation),
    ]
  }
}

/// Why a job died.
struct JobDeath: Sendable, Equatable, RenamedColumns {
  static let columns = ["failureClass": "class"]

  let attempts: Int
  /// The class of the last failure, as it is stored.
  let failureClass: String
  let code: String?
  let message: String?
  /// When, in seconds since 1970.
  let failedAt: Double
  /// Calls of the endpoint in all.
  let calls: Int
  /// The HTTP status of the last failure; nil when there was no answer.
  let status: Int?
}

/// A condition as it is stored with a result.
struct StoredCondition: Sendable, Equatable, Decodable {
  /// The endpoint's id of it.
  let id: String
  /// What the endpoint calls it.
  let name: String
  /// From 0 to 1.
  let confidence: Double
  let band: Int16?
  /// Whether it says that nothing is wrong.
  let normal: Bool?
  /// What of the rest the model said.
  private let description: String?
  private let symptoms: [String]?
  private let serious: Bool?
  private let consult: Bool?
  private let treatment: String?
  private let recommendation: String?

  /// The band that was stored with it.
  var storedBand: ConfidenceBand? { band.flatMap { ConfidenceBand(code: $0) } }

  /// What people read of it.
  var mark: ConditionMark? { ConditionMark(storedBand, isNormal: normal) }

  /// `78%`.
  var percentage: String? { Confidence(confidence)?.percentageText }

  /// Reads the stored array; empty where it is not one.
  static func read(_ json: String) -> [StoredCondition] {
    (try? JSONDecoder().decode([StoredCondition].self, from: Data(json.utf8))) ?? []
  }
}

extension StoredResult {
  /// The analysis as the model gave it.
  ///
  /// - Throws: `unexpectedAnswer` for what is no analysis.
  func analysis(_ kind: AnalysisKind) throws(JobQueueError) -> Analysis {
    var conditions: [Condition] = []
    for stored in StoredCondition.read(conditionsJSON) {
      guard let confidence = Confidence(stored.confidence) else {
        throw JobQueueError(.unexpectedAnswer, "A stored condition has a confidence outside 0 to 1.")
      }
      conditions.append(stored.condition(confidence))
    }
    return Analysis(id: analysisID, kind: kind, conditions: conditions, answeredAt: answeredAt)
  }
}

extension StoredCondition {
  fileprivate func condition(_ confidence: Confidence) -> Condition {
    Condition(
      id: id, name: name, confidence: confidence, explanation: description, symptoms: symptoms,
      isPotentiallySerious: serious, recommendsConsultation: consult, treatment: treatment,
      recommendation: recommendation, isNormal: normal ?? false)
  }
}
