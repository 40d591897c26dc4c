internal import AnalysisCore
import Formatting
public import HTTPTransfer

/// Says of a failed call what kind of failure it is: a pure function of what came back.
public enum Classifier {
  /// What came back of a call.
  public enum Outcome: Sendable {
    /// No answer that may be used.
    case transfer(TransferError)
    /// An answer.
    case answer(status: Int, headers: Headers, body: [UInt8])
  }

  /// Classifies what came back of a call; nil when it is an answer of status 2xx that reports no failure.
  ///
  /// - Parameters:
  ///   - now: Seconds since 1970, for dates in `Retry-After` and the next month.
  ///   - maximumRetryAfter: The longest pause that the backend may ask for.
  public static func classify(
    _ outcome: Outcome, now: Double, maximumRetryAfter: Duration = .seconds(3600)
  ) -> CallFailure? {
    switch outcome {
    case .transfer(let error):
      return TransferRules.classify(error, now: now, maximumRetryAfter: maximumRetryAfter)
    case .answer(let status, let headers, let body):
      let value = try? JSONReader.read(body)
      guard !(200...299).contains(status) || value.flatMap(ReportedFailure.init(answer:)) != nil else {
        return nil
      }
      let answer = FailedAnswer(status: status, headers: headers, body: body, value: value)
      return AnswerRules(now: now, maximumRetryAfter: maximumRetryAfter).classify(answer)
    }
  }
}

/// An answer that is a failure, by its status or its body.
struct FailedAnswer {
  let status: Int
  let headers: Headers
  let body: [UInt8]
  /// The body's JSON; nil when it has none.
  let value: JSONValue?

  var report: ReportedFailure {
    guard let value else { return ReportedFailure(body: .null) }
    return ReportedFailure(answer: value) ?? ReportedFailure(body: value)
  }
}
