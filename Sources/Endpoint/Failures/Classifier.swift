internal import HTTPTransfer
public import Support

/// Says what came back of a call: an answer that can be read, or which kind of failure. It looks at nothing but what
/// it is given; every call goes through it.
struct Classifier: Sendable {
  /// Seconds since 1970, for dates in `Retry-After` and the next month.
  let now: Double
  /// The longest pause that the endpoint may ask for.
  var maximumRetryAfter: Duration = .seconds(3600)

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

/// Why a call brought nothing that may be used, and what that means for whoever made it.
public struct CallFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of failure it is.
  public var failureClass: FailureClass
  /// What happened, in at most 300 characters, without anything that looks like a token or an address.
  public var message: String
  /// The endpoint's code, for instance `INVALID_IMAGE_FORMAT`.
  public var code: String?
  /// The endpoint's id of this failure, to find it in its logs.
  public var errorID: String?
  /// The HTTP status; nil when there was no answer.
  public var status: Int?
  /// How long the endpoint asks to wait, clamped; nil when it does not say.
  public var retryAfter: Duration?
  /// Until when the service account may not call, in seconds since 1970; of the service limit only.
  var pauseUntil: Double?
  /// Whether the attempt counts among the job's.
  public var consumesAttempt: Bool
  /// Whether the endpoint may have counted the call although it brought nothing.
  public var maybeCounted: Bool
  /// What may be said of an answer that could not be used, in a sentence: how one without findings began, in at most
  /// 200 characters, redacted; of any other, its shape and nothing of its content.
  public var evidence: String?
  /// How many requests were made of which a byte may have left this machine.
  public var calls = 0
  /// Whether this side ended the call: a cancelled task or a closed client.
  public var wasCancelled = false
  /// Whether this side does not let such requests out: of a wrong setting that every call will meet.
  public var isRefusedHere = false

  /// A failure of a class; the other facts are set after it.
  init(
    _ failureClass: FailureClass, _ message: String, consumesAttempt: Bool = true, maybeCounted: Bool = false
  ) {
    self.failureClass = failureClass
    self.message = Redaction.message(message)
    self.consumesAttempt = consumesAttempt
    self.maybeCounted = maybeCounted
  }

  /// Whether trying again cannot help.
  public var isFinal: Bool { failureClass == .permanent || failureClass == .redirect }

  /// The message, with status and code where there are any.
  public var description: String {
    let facts = [status.map { "status \($0)" }, code].compactMap { $0 }
    return facts.isEmpty ? message : "\(message) (\(facts.joined(separator: ", ")))"
  }
}

/// An answer that is a failure, by its status or its body.
struct FailedAnswer {
  let status: Int
  let headers: Headers
  let body: [UInt8]
  /// The body's JSON; nil when it has none.
  let value: JSONPart?

  var report: ReportedFailure {
    guard let value else { return ReportedFailure(body: .null) }
    return ReportedFailure(answer: value) ?? ReportedFailure(body: value)
  }

  /// Whether its words may be shown. One of status 2xx may hold what was found in somebody's picture, also where it is
  /// cut off or reports a failure, and so may any other that has conditions.
  var mayBeQuoted: Bool {
    guard !(200...299).contains(status) else { return false }
    return value?["conditions"] == nil
  }

  /// What may be said of it beside the failure; nil where there is nothing.
  var evidence: String? {
    guard !body.isEmpty else { return nil }
    return mayBeQuoted ? Redaction.excerpt(body).map { "It began: \($0)" } : shape
  }
}

// MARK: - The shape

extension FailedAnswer {
  /// The members that an answer of the API may have. No other is named: whoever runs the endpoint chooses the names.
  private static let members = [
    "id", "type", "conditions", "timestamp", "created_at", "user", "user_id", "debug_info", "analysis",
    "analyses",
    "subscription", "token", "success", "error", "error_id", "error_note", "code", "message",
  ]

  private static let contentTypes: Set<String> = [
    "application/json", "application/problem+json", "application/octet-stream", "text/html", "text/plain",
  ]

  /// Status, type and length of an answer, and which members of the API it has.
  private var shape: String {
    "It had status \(status), \(contentType) and \(body.count) bytes\(memberNames)."
  }

  private var contentType: String {
    guard let field = headers["Content-Type"] else { return "no content type" }
    let type = field.prefix { $0 != ";" && $0 != " " }.lowercased()
    return Self.contentTypes.contains(type) ? "the content type \(type)" : "an unusual content type"
  }

  private var memberNames: String {
    guard let value, let count = value.memberCount else { return "" }
    let known = Self.members.filter(value.has)
    let others = count - known.count
    let names = known + (others > 0 ? ["\(others) other\(others == 1 ? "" : "s")"] : [])
    return "; its members: \(names.isEmpty ? "none" : names.joined(separator: ", "))"
  }
}
