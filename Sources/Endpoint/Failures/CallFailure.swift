public import Support

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
  public var pauseUntil: Double?
  /// Whether the attempt counts among the job's.
  public var consumesAttempt: Bool
  /// Whether the endpoint may have counted the call although it brought nothing.
  public var maybeCounted: Bool
  /// What may be told of an answer that could not be used, in a sentence: how one without findings began, in at most
  /// 200 characters, redacted; of any other, its shape and nothing of its content.
  public var evidence: String?
  /// How many requests were made of which a byte may have left this machine.
  public var calls = 0
  /// Whether this side ended the call: a cancelled task or a closed client.
  public var wasCancelled = false
  /// Whether this side does not let such requests out: of a wrong setting that every call will meet.
  public var isRefusedHere = false

  /// A failure of a class; the other facts are set after it.
  public init(
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
