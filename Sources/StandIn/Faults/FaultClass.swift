/// A way in which the endpoint can be told to misbehave, or to answer unusually but validly.
public enum FaultClass: String, Sendable, CaseIterable {
  // Plain error statuses.
  case badRequest = "400"
  case unauthorized = "401"
  case forbidden = "403"
  case requestTimeout = "408"
  case contentTooLarge = "413"
  case unsupportedMedia = "415"
  case unprocessable = "422"
  case tooMany = "429"
  case tooManyRetryAfter = "429-retry-after"
  case tooManyRetryAfterDate = "429-retry-after-date"
  case serverError = "500"
  case badGateway = "502"
  case unavailable = "503"
  case unavailableRetryAfter = "503-retry-after"
  case gatewayTimeout = "504"
  /// 500 with `CRITICAL_ERROR`, a category, an advice and an `error_id`.
  case criticalError = "critical-error"
  /// 500 whose `error` is a string instead of a boolean.
  case errorString = "error-string"
  /// 429 with `ANALYSIS_LIMIT_EXCEEDED`.
  case limitExceeded = "limit-exceeded"
  /// 403 with `ANALYSIS_LIMIT_EXCEEDED`, as an earlier version answered.
  case limitExceededForbidden = "limit-exceeded-403"
  /// 307 to another host.
  case redirect

  // Faults of the connection.
  /// The connection is reset when the whole request has been read.
  case reset
  /// No answer ever comes.
  case timeout
  /// A valid answer whose body arrives a few bytes at a time.
  case slow
  /// Content-Length promises more than the body holds.
  case truncated

  // 200 with a body that is no answer.
  case html
  case badJSON = "bad-json"
  case empty
  /// A valid answer of 2 MiB.
  case huge
  /// 64 MiB of white space in a gzip stream of 0.4 MiB.
  case gzipBomb = "gzip-bomb"

  // 200 with JSON that is no valid analysis.
  /// `error: true` with `SERVER_ERROR`.
  case errorTrue = "error-true"
  /// `error: true` with `INVALID_IMAGE_FORMAT`.
  case errorTrueImageFormat = "error-true-image-format"
  /// The one condition is `analysis_error`.
  case analysisError = "analysis-error"
  /// The one condition is made up, with an empty `error` and an `error_note`.
  case fallback
  /// A confidence of 1.5, -0.1, NaN, or text.
  case badConfidence = "bad-confidence"
  /// The other type of analysis than the one asked for.
  case wrongType = "wrong-type"
  case missingID = "missing-id"
  case missingConditions = "missing-conditions"

  // Unusual, and valid.
  /// `error: false` beside the analysis.
  case errorFalse = "error-false"
  /// The timestamp as seconds since 1970.
  case secondsTimestamp = "seconds-timestamp"
  /// `created_at` in place of `timestamp`, without fractional seconds.
  case createdAt = "created-at"
  /// Conditions without flags, symptoms and treatment.
  case sparse
  /// No condition at all.
  case noFindings = "no-findings"
  /// A processing time of -1 ms.
  case negativeTime = "negative-time"
  /// The one condition `normal` with `recommendationText` and `attention_map`.
  case newerModel = "newer-model"
}
