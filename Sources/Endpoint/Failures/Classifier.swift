public import HTTPTransfer
public import Support

/// Says what came back of a call: an answer that can be read, or which kind of failure. It looks at nothing but what
/// it is given; every call goes through it.
public struct Classifier: Sendable {
  /// Seconds since 1970, for dates in `Retry-After` and the next month.
  let now: Double
  /// The longest pause that the endpoint may ask for.
  let maximumRetryAfter: Duration

  /// Classifies what came back at a time.
  public init(now: Double, maximumRetryAfter: Duration = .seconds(3600)) {
    self.now = now
    self.maximumRetryAfter = maximumRetryAfter
  }

  /// The failure of a call without an answer that may be used.
  public func failure(of error: TransferError) -> CallFailure {
    TransferRules.classify(error, now: now, maximumRetryAfter: maximumRetryAfter)
  }

  /// The JSON of an answer of status 2xx that reports no failure.
  ///
  /// - Throws: The failure that any other answer is.
  public func value(status: Int, headers: Headers, body: [UInt8]) throws(CallFailure) -> JSONPart {
    let read = Result { () throws(JSONFailure) in try JSONReader.read(body) }
    let value = try? read.get()
    if !(200...299).contains(status) || value.flatMap(ReportedFailure.init(answer:)) != nil {
      let answer = FailedAnswer(status: status, headers: headers, body: body, value: value)
      throw AnswerRules(now: now, maximumRetryAfter: maximumRetryAfter).classify(answer)
    }
    do throws(JSONFailure) {
      return try read.get()
    } catch {
      let answer = FailedAnswer(status: status, headers: headers, body: body, value: nil)
      throw Self.invalid(DecodingFailure(error), of: answer)
    }
  }

  /// The failure that an answer is; nil when it can be read.
  public func failure(status: Int, headers: Headers, body: [UInt8]) -> CallFailure? {
    do throws(CallFailure) {
      _ = try value(status: status, headers: headers, body: body)
      return nil
    } catch {
      return error
    }
  }

  /// The failure of an answer that is well but for its content.
  static func invalid(_ failure: DecodingFailure, of answer: FailedAnswer? = nil) -> CallFailure {
    var result = CallFailure(.invalidAnswer, failure.description, maybeCounted: true)
    result.status = answer?.status
    result.evidence = answer?.evidence
    result.calls = 1
    return result
  }
}
