import AnalysisCore
import PostgreSQL

/// All that is kept of a job.
public struct JobDetail: Sendable, Equatable {
  /// The line of the list.
  public let summary: JobSummary
  /// The attempts that failed, in order.
  public let attempts: [AttemptRecord]
  /// The analysis; nil while there is none.
  public let result: StoredResult?
  /// Whether there is an analysis that this login may not read.
  public var isResultHidden = false
  /// Why it died; nil unless it is dead.
  public let death: JobDeath?
}

/// An attempt that failed.
public struct AttemptRecord: Sendable, Equatable {
  /// Which attempt it was, from 1.
  public let attempt: Int
  /// When it was recorded, in seconds since 1970.
  public let at: Double
  /// The class of failure, as it is stored.
  public let failureClass: String
  /// The backend's code.
  public let code: String?
  /// What happened.
  public let message: String?
  /// The backend's number of the error.
  public let errorID: String?
  /// The HTTP status.
  public let status: Int?
  /// Calls of the endpoint.
  public let calls: Int
  /// Whether the backend may have counted a call.
  public let maybeCounted: Bool
  /// Whether the attempt counts.
  public let consumed: Bool
  /// The endpoint.
  public let endpoint: String?
  /// The number of the worker that had the job, as its log and the status name it.
  public let worker: Int64
}

extension AttemptRecord {
  /// Reads a row of `sql/queue/job_attempts.sql`.
  init(_ row: Row) throws {
    attempt = try row.int(0)
    at = try row.double(1)
    failureClass = try row.string(2)
    code = try row.stringIfPresent(3)
    message = try row.stringIfPresent(4)
    errorID = try row.stringIfPresent(5)
    status = try row.int16IfPresent(6).map(Int.init)
    calls = Int(try row.int16IfPresent(7) ?? 0)
    maybeCounted = try row.boolIfPresent(8) ?? false
    consumed = try row.boolIfPresent(9) ?? true
    endpoint = try row.stringIfPresent(10)
    worker = try row.int64(11)
  }
}

/// An analysis as it is stored.
public struct StoredResult: Sendable, Equatable {
  /// The analysis's id at the backend.
  public let analysisID: String
  /// When the backend says that it answered, in seconds since 1970.
  public let answeredAt: Double?
  /// When it was stored, in seconds since 1970.
  public let finishedAt: Double
  /// The conditions, as the JSON array that is stored.
  public let conditionsJSON: String
  /// Whether it is serious by the setting `consult_from`; nil when no condition says.
  public let isSerious: Bool?
  /// Whether it advises a doctor by the setting `consult_from`; nil when no condition says.
  public let advisesConsultation: Bool?
  /// Whether the endpoint says so of any condition; nil when it says of none.
  public let endpointSaysSerious: Bool?
  /// Whether the endpoint recommends a doctor for any condition; nil when it says of none.
  public let endpointAdvisesConsultation: Bool?
  /// Calls of the endpoint in the attempt that succeeded.
  public let calls: Int
  /// How long the call took, in milliseconds.
  public let callMilliseconds: Int?
  /// What the endpoint says of its model.
  public let model: String?
  /// The endpoint.
  public let endpoint: String?
  /// The version of the worker.
  public let version: String?
  /// Which attempt succeeded.
  public let attempt: Int
}

extension StoredResult {
  /// Reads a row of `sql/queue/job_result.sql`.
  init(_ row: Row) throws {
    analysisID = try row.stringIfPresent(0) ?? ""
    answeredAt = try row.doubleIfPresent(1)
    finishedAt = try row.double(2)
    conditionsJSON = try row.stringIfPresent(3) ?? "[]"
    isSerious = try row.boolIfPresent(4)
    advisesConsultation = try row.boolIfPresent(5)
    endpointSaysSerious = try row.boolIfPresent(6)
    endpointAdvisesConsultation = try row.boolIfPresent(7)
    calls = Int(try row.int16IfPresent(8) ?? 0)
    callMilliseconds = try row.int32IfPresent(9).map(Int.init)
    model = try row.stringIfPresent(10)
    endpoint = try row.stringIfPresent(11)
    version = try row.stringIfPresent(12)
    attempt = try row.int(13)
  }
}

/// Why a job died.
public struct JobDeath: Sendable, Equatable {
  /// Attempts that counted.
  public let attempts: Int
  /// The class of the last failure, as it is stored.
  public let failureClass: String
  /// The backend's code.
  public let code: String?
  /// What happened.
  public let message: String?
  /// When, in seconds since 1970.
  public let failedAt: Double
  /// Calls of the endpoint in all.
  public let calls: Int
}

extension JobDeath {
  /// Reads a row of `sql/queue/job_death.sql`.
  init(_ row: Row) throws {
    attempts = try row.int(0)
    failureClass = try row.string(1)
    code = try row.stringIfPresent(2)
    message = try row.stringIfPresent(3)
    failedAt = try row.double(4)
    calls = try row.int(5)
  }
}
