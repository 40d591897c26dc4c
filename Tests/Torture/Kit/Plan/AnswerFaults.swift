import StandIn

/// What the endpoint does wrong on its own account, drawn by it from its seed; counted from its log.
enum AnswerFaults {
  /// In healthy times.
  static let always: [FaultRule] =
    passing.map { FaultRule($0, share: 0.0015) } + final.map { FaultRule($0, share: 0.0004) }
    + valid.map { FaultRule($0, share: 0.01) }
    // At the first try only: a second one in a row would pause the endpoint for half a minute.
    + [FaultRule(.unauthorized, share: 0.003, lastTry: 1)]

  /// While it fails: more often than not.
  static let failing: [FaultRule] = [
    FaultRule(.serverError, share: 0.3), FaultRule(.unavailable, share: 0.15), FaultRule(.reset, share: 0.15),
    FaultRule(.timeout, share: 0.1), FaultRule(.tooMany, share: 0.1),
  ]

  /// While the service account's monthly limit is reached, as either version says it.
  static let limitReached: [FaultRule] = [
    FaultRule(.limitExceeded, share: 0.5), FaultRule(.limitExceededForbidden, share: 0.5),
  ]

  static let allForbidden: [FaultRule] = [FaultRule(.forbidden, share: 1)]

  /// Tried again.
  static let passing: [FaultClass] = [
    .requestTimeout, .tooMany, .tooManyRetryAfter, .tooManyRetryAfterDate, .serverError, .badGateway,
    .unavailable, .unavailableRetryAfter, .gatewayTimeout, .criticalError, .errorString, .reset, .timeout,
    .slow,
    .truncated, .html, .badJSON, .empty, .huge, .gzipBomb, .errorTrue, .analysisError, .fallback,
    .badConfidence,
    .wrongType,
    .missingID, .missingConditions,
  ]

  /// The end of the job.
  static let final: [FaultClass] = [
    .badRequest, .contentTooLarge, .unsupportedMedia, .unprocessable, .errorTrueImageFormat, .redirect,
  ]

  /// Unusual answers that are analyses all the same: no faults.
  static let valid: [FaultClass] = [
    .errorFalse, .secondsTimestamp, .createdAt, .sparse, .noFindings, .negativeTime, .newerModel,
  ]
}
