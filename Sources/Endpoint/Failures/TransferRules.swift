internal import HTTPTransfer
internal import Support

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
