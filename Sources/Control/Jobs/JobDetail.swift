import PostgreSQL
import Queue
internal import Support

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
struct JobHolder: Sendable, Equatable {
  /// The worker's number, as its log and the status name it.
  let worker: Int64
  /// Its machine and process; nil before its first sign of life.
  let name: String?
  /// Its version.
  let version: String?
  /// When it started, in seconds since 1970.
  let startedAt: Double?
  /// How many seconds ago it was last heard of.
  let heartbeatAgo: Double?
  /// Until when the job is its own, unless it moves that on, in seconds since 1970.
  let deadline: Double
  /// Where it sends jobs of the type, as it last reported.
  let endpoints: [String]
}

extension JobHolder {
  static let function = SQLFunction(
    "job_holder", 2, "o_worker", "o_deadline", "o_host", "o_pid", "o_version", "o_started_at",
    "o_silent_seconds", "o_endpoints")

  /// Reads a row of it.
  init(_ row: Row) throws {
    worker = try row.int64("o_worker")
    let host = try row.stringIfPresent("o_host")
    let pid = try row.int32IfPresent("o_pid")
    name = host.map { [$0, pid.map { "\($0)" }].compactMap { $0 }.joined(separator: " ") }
    version = try row.stringIfPresent("o_version")
    startedAt = try row.secondsIfPresent("o_started_at")
    heartbeatAgo = try row.doubleIfPresent("o_silent_seconds")
    deadline = try row.seconds("o_deadline")
    endpoints = try row.array("o_endpoints", of: String.self)
  }
}

/// An attempt that failed.
struct AttemptRecord: Sendable, Equatable {
  /// Which attempt it was, from 1.
  let attempt: Int
  /// When it was recorded, in seconds since 1970.
  let at: Double
  /// The class of failure, as it is stored.
  let failureClass: String
  /// The endpoint's code.
  let code: String?
  /// What happened.
  let message: String?
  /// The endpoint's number of the error.
  let errorID: String?
  /// The HTTP status.
  let status: Int?
  /// Calls of the endpoint.
  let calls: Int
  /// Whether the endpoint may have counted a call.
  let maybeCounted: Bool
  /// Whether the attempt counts.
  let consumed: Bool
  /// The endpoint.
  let endpoint: String?
  /// The number of the worker that had the job, as its log and the status name it.
  let worker: Int64
}

extension AttemptRecord {
  static let function = SQLFunction(
    "job_attempts", 2, "attempt", "at", "class", "code", "message", "error_id", "status", "calls",
    "maybe_counted", "consumed", "endpoint", "worker_id")

  /// Reads a row of it.
  init(_ row: Row) throws {
    attempt = try row.int("attempt")
    at = try row.seconds("at")
    failureClass = try row.string("class")
    code = try row.stringIfPresent("code")
    message = try row.stringIfPresent("message")
    errorID = try row.stringIfPresent("error_id")
    status = try row.int16IfPresent("status").map(Int.init)
    calls = Int(try row.int16IfPresent("calls") ?? 0)
    maybeCounted = try row.boolIfPresent("maybe_counted") ?? false
    consumed = try row.boolIfPresent("consumed") ?? true
    endpoint = try row.stringIfPresent("endpoint")
    worker = try row.int64("worker_id")
  }
}

/// An analysis as it is stored.
public struct StoredResult: Sendable, Equatable {
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
  public let calls: Int
  /// How long the call took, in milliseconds.
  let callMilliseconds: Int?
  /// What the endpoint says of its model.
  let model: String?
  /// The endpoint.
  public let endpoint: String?
  /// The version of the worker.
  public let version: String?
  /// Which attempt succeeded.
  public let attempt: Int
}

extension StoredResult {
  static let function = SQLFunction(
    "results_of", 2, "job_id", "analysis_id", "answered_at", "finished_at", "conditions", "serious",
    "consult",
    "endpoint_serious", "endpoint_consult", "calls", "call_ms", "model", "endpoint", "version", "attempt")

  /// Reads a row of it.
  init(_ row: Row) throws {
    analysisID = try row.stringIfPresent("analysis_id") ?? ""
    answeredAt = try row.secondsIfPresent("answered_at")
    finishedAt = try row.seconds("finished_at")
    conditionsJSON = try row.jsonTextIfPresent("conditions") ?? "[]"
    isSerious = try row.boolIfPresent("serious")
    advisesConsultation = try row.boolIfPresent("consult")
    endpointSaysSerious = try row.boolIfPresent("endpoint_serious")
    endpointAdvisesConsultation = try row.boolIfPresent("endpoint_consult")
    calls = Int(try row.int16IfPresent("calls") ?? 0)
    callMilliseconds = try row.int32IfPresent("call_ms").map(Int.init)
    model = try row.stringIfPresent("model")
    endpoint = try row.stringIfPresent("endpoint")
    version = try row.stringIfPresent("version")
    attempt = try row.int("attempt")
  }
}

/// Why a job died.
struct JobDeath: Sendable, Equatable {
  /// Attempts that counted.
  let attempts: Int
  /// The class of the last failure, as it is stored.
  let failureClass: String
  /// The endpoint's code.
  let code: String?
  /// What happened.
  let message: String?
  /// When, in seconds since 1970.
  let failedAt: Double
  /// Calls of the endpoint in all.
  let calls: Int
  /// The HTTP status of the last failure; nil when there was no answer.
  let status: Int?
}

extension JobDeath {
  static let function = SQLFunction(
    "job_death", 2, "attempts", "class", "code", "message", "failed_at", "calls", "status")

  /// Reads a row of it.
  init(_ row: Row) throws {
    attempts = try row.int("attempts")
    failureClass = try row.string("class")
    code = try row.stringIfPresent("code")
    message = try row.stringIfPresent("message")
    failedAt = try row.seconds("failed_at")
    calls = try row.int("calls")
    status = try row.int16IfPresent("status").map(Int.init)
  }
}
