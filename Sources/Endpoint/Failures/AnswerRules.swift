internal import HTTPTransfer
internal import Support

/// Failures that the endpoint itself reports: the body's code is read first, the status second.
struct AnswerRules {
  let now: Double
  let maximumRetryAfter: Duration

  /// Codes of the endpoint's API that say more than the status does.
  private static let classes: [String: FailureClass] = [
    "INVALID_CREDENTIALS": .credentials,
    "ANALYSIS_LIMIT_EXCEEDED": .serviceLimit,
    "INVALID_IMAGE_FORMAT": .permanent,
    "LIMIT_FILE_SIZE": .permanent,
    "MISSING_IMAGE": .permanent,
    "INVALID_MODEL_TYPE": .permanent,
    "MISSING_REQUEST_BODY": .permanent,
    "INVALID_FIELD_NAME": .permanent,
    "SERVER_ERROR": .server,
    "CRITICAL_ERROR": .server,
  ]

  func classify(_ answer: FailedAnswer) -> CallFailure {
    let report = answer.report
    let kind = failureClass(answer.status, report)
    var failure = CallFailure(kind, message(answer, kind, report))
    failure.code = answer.mayBeQuoted || isKnown(report.code) ? report.code : nil
    failure.errorID = answer.mayBeQuoted || Self.isNumber(report.errorID) ? report.errorID : nil
    failure.status = answer.status
    failure.calls = 1
    failure.consumesAttempt = consumesAttempt(answer.status, kind)
    failure.maybeCounted = maybeCounted(answer.status, kind)
    let asked = askedFor(answer.headers)
    switch kind {
    case .overload, .server: failure.retryAfter = asked.map(clamped)
    case .serviceLimit:
      failure.retryAfter = asked.map(clamped)
      failure.pauseUntil = pauseEnd(asked)
    default: break
    }
    if report.message == nil || !answer.mayBeQuoted { failure.evidence = answer.evidence }
    return failure
  }

  /// Whether a code is one of the endpoint's API, and not a finding that stands where a code should be.
  private func isKnown(_ code: String?) -> Bool {
    code.map { Self.classes[$0] != nil || $0 == ReportedFailure.conditionID } ?? false
  }

  /// Whether an id is written in hexadecimal digits, as UUIDs are: no word can be read in it.
  private static func isNumber(_ id: String?) -> Bool {
    guard let id, id.utf8.count <= 64, id.contains(where: \.isWholeNumber) else { return false }
    return id.allSatisfy { $0 == "-" || $0.isASCII && $0.isHexDigit }
  }

  private func failureClass(_ status: Int, _ report: ReportedFailure) -> FailureClass {
    if report.isCondition { return .invalidAnswer }
    if let code = report.code, let byCode = Self.classes[code] {
      // A server's failure that says "too busy" by its status is that.
      return byCode == .server && Self.overload.contains(status) ? .overload : byCode
    }
    return byStatus(status)
  }

  private static let overload: Set<Int> = [408, 429, 503]

  private func byStatus(_ status: Int) -> FailureClass {
    switch status {
    case 200...299: .invalidAnswer
    case 300...399: .redirect
    case 401: .credentials
    // Not of the image but of the endpoint or the account: no job should die of a wrong address.
    case 402, 403, 404, 405, 407, 410, 421, 426, 431, 451, 511: .permission
    case _ where Self.overload.contains(status): .overload
    case 409, 423, 425: .server
    case 400...499: .permanent
    default: .server
    }
  }

  private func consumesAttempt(_ status: Int, _ kind: FailureClass) -> Bool {
    switch kind {
    case .credentials, .permission, .serviceLimit: false
    case .overload: status != 408 && status != 429
    default: true
    }
  }

  private func maybeCounted(_ status: Int, _ kind: FailureClass) -> Bool {
    switch kind {
    case .invalidAnswer, .server: true
    case .permanent: (200...299).contains(status) || status >= 500
    default: false
    }
  }

  /// The seconds that the endpoint asks for. A date is the endpoint's own, so it is counted from the time at
  /// which the same endpoint says that it answered: this machine's clock may be days off.
  private func askedFor(_ headers: Headers) -> Double? {
    let answeredAt = headers["Date"].flatMap { RetryAfter.date($0, now: now) }
    return headers["Retry-After"].flatMap { RetryAfter.seconds($0, now: answeredAt ?? now) }
  }

  private func clamped(_ seconds: Double) -> Duration {
    let most = maximumRetryAfter.inSeconds
    return .milliseconds(Int64((min(seconds, most) * 1000).rounded(.up)))
  }

  /// The time that the endpoint gives, though no more than 32 days ahead, or else the next month's beginning.
  private func pauseEnd(_ asked: Double?) -> Double {
    asked.map { now + min($0, 32 * 86_400) }
      ?? Double(UnixTime(secondsSince1970: now).date.startOfNextMonth.number * 86_400)
  }

  private func message(_ answer: FailedAnswer, _ kind: FailureClass, _ report: ReportedFailure) -> String {
    if answer.mayBeQuoted, let message = report.message, message.contains(where: { !$0.isWhitespace }) {
      return message
    }
    switch kind {
    case .redirect: return "The endpoint answered with a redirect, which is not followed."
    case .credentials: return "The endpoint did not accept the service account's credentials."
    case .permission:
      return "The endpoint refuses the call; look at the endpoint's address and the account's rights."
    case .serviceLimit: return "The service account's limit at the endpoint is reached."
    case .overload: return "The endpoint asks for less or for later."
    case .permanent: return "The endpoint does not take this request."
    case .server: return "The endpoint failed."
    default:
      return report.isCondition
        ? "The endpoint's model failed." : "The endpoint reported a failure."
    }
  }
}

/// Failures without a whole answer.
enum TransferRules {
  static func classify(_ error: TransferError, now: Double, maximumRetryAfter: Duration) -> CallFailure {
    var failure = byAnswerBegun(error, now: now, maximumRetryAfter: maximumRetryAfter) ?? byError(error)
    failure.status = error.answer?.status
    failure.calls = error.certainlyNotSent ? 0 : 1
    failure.wasCancelled = error.code == .cancelled || error.code == .closed
    failure.isRefusedHere = error.code == .refusedByPolicy || error.code == .invalidRequest
    return failure
  }

  /// An answer that began and could not be read to its end still has a status: an early 413 or a 503 of any
  /// length mean what they mean.
  private static func byAnswerBegun(
    _ error: TransferError, now: Double, maximumRetryAfter: Duration
  ) -> CallFailure? {
    guard let head = error.answer, !isOurs(error) else { return nil }
    if (200...299).contains(head.status) {
      guard error.code != .timedOut else { return nil }
      return CallFailure(.invalidAnswer, error.message, maybeCounted: true)
    }
    let answer = FailedAnswer(status: head.status, headers: head.headers, body: [], value: nil)
    return AnswerRules(now: now, maximumRetryAfter: maximumRetryAfter).classify(answer)
  }

  private static func byError(_ error: TransferError) -> CallFailure {
    switch error.code {
    case .invalidRequest:
      // The address, the form and the headers are the same for every job: a wrong setting, not a wrong image.
      return CallFailure(.notSent, error.message, consumesAttempt: false)
    case .headersTooLarge, .answerTooLarge, .answerEncoded, .answerTruncated, .protocolViolation:
      return CallFailure(.invalidAnswer, error.message, maybeCounted: true)
    default:
      return error.certainlyNotSent
        // An endpoint that is away for a night must not use up the attempts of every job that waits for it.
        ? CallFailure(.notSent, error.message, consumesAttempt: false)
        : CallFailure(.outcomeUnknown, error.message, consumesAttempt: !isOurs(error), maybeCounted: true)
    }
  }

  /// Whether the cause lies in this process or its settings, so that no job should pay for it.
  private static func isOurs(_ error: TransferError) -> Bool {
    let ours: Set<TransferError.Code> = [
      .refusedByPolicy, .invalidRequest, .cancelled, .closed, .outOfDescriptors, .outOfMemory,
      .internalFailure,
    ]
    return ours.contains(error.code)
  }
}
