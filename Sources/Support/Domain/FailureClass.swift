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
  /// The endpoint failed.
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
