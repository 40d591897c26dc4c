/// A job's number. Written as text wherever JSON is made, since it may be larger than the whole numbers
/// that JavaScript can hold.
public struct JobID: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The number.
  public let value: Int64

  /// The id with a number.
  public init(_ value: Int64) {
    self.value = value
  }

  /// Reads a positive decimal number; nil for anything else.
  public init?(_ text: String) {
    guard let value = Int64(text), value > 0 else { return nil }
    self.value = value
  }

  /// The number in decimal.
  public var description: String { String(value) }

  /// Orders by number.
  public static func < (left: JobID, right: JobID) -> Bool {
    left.value < right.value
  }
}

/// A batch's number, written with a B before it so that it is not taken for a job's: `B17`.
public struct BatchID: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The number.
  public let value: Int64

  /// The id with a number.
  public init(_ value: Int64) {
    self.value = value
  }

  /// Reads `B17`, `b17` or `17`; nil for anything else.
  public init?(_ text: String) {
    let digits = text.hasPrefix("B") || text.hasPrefix("b") ? text.dropFirst() : text[...]
    guard digits.allSatisfy(\.isASCII), let value = Int64(digits), value > 0, digits.first != "+" else {
      return nil
    }
    self.value = value
  }

  /// The number behind a B.
  public var description: String { "B\(value)" }

  /// Orders by number.
  public static func < (left: BatchID, right: BatchID) -> Bool {
    left.value < right.value
  }
}

/// Where a job is on its way.
public enum JobState: String, Sendable, CaseIterable, Codable {
  /// Ready to be claimed.
  case waiting
  /// To run at a later time: submitted for it, or to be tried again.
  case scheduled
  /// In a worker's lease.
  case running
  /// Its result is stored.
  case succeeded
  /// It died; its quota unit was given back.
  case dead
  /// It was cancelled; its quota unit was given back.
  case cancelled

  /// Whether nothing more happens to the job by itself.
  var isTerminal: Bool {
    switch self {
    case .waiting, .scheduled, .running: false
    case .succeeded, .dead, .cancelled: true
    }
  }
}

/// What kind of failure an attempt ended in. The raw value is what the database and reports hold.
public enum FailureClass: String, Sendable, CaseIterable {
  /// No byte of the request left: refused connection, unknown name, failed TLS handshake.
  case notSent = "not_sent"
  /// Cut or timed out while sending or waiting; the endpoint may have counted the call.
  case outcomeUnknown = "outcome_unknown"
  /// An answer that is not an analysis: bad JSON, HTML, truncated, too long, invalid values.
  case invalidAnswer = "invalid_answer"
  /// The endpoint will never take this image or request.
  case permanent
  /// The service account's credentials were not accepted.
  case credentials
  /// The service account may not do this.
  case permission
  /// The service account's own monthly limit at the endpoint.
  case serviceLimit = "service_limit"
  /// The endpoint asks for less or for later.
  case overload
  case server
  /// The endpoint answered with a redirect, which is never followed.
  case redirect
  /// The image could not be read, cleaned or decrypted.
  case image
  /// The job was not started before its expiry.
  case expired
  /// The worker was lost while the job ran.
  case workerLost = "worker_lost"
  /// The result could not be stored.
  case store
}

/// The version of the programs, which are released together.
public enum ProductVersion {
  /// As `--version` prints it, and as it is kept with each result.
  public static let current = "1.0.0"
}
