public import HTTPTransfer
public import Support

/// One analysis call, from the token to the checked answer.
struct AnalysisCall {
  let client: ModelClient
  let form: Multipart
  let picture: Fingerprint
  let kind: AnalysisKind
  let idempotencyKey: String
  let end: ContinuousClock.Instant

  private var transport: Transport { client.transport }

  func run() async -> CallOutcome {
    guard let tokens = client.tokens else { return await request(nil) }
    let first: TokenProvider.Borrowed
    do throws(CallFailure) {
      first = try await tokens.token()
    } catch {
      return .failure(Self.withoutToken(error, calls: 0))
    }
    let outcome = await request(first.token)
    guard case .failure(let failure) = outcome, failure.failureClass == .credentials else { return outcome }
    let second: TokenProvider.Borrowed
    do throws(CallFailure) {
      second = try await tokens.token(after: first.generation)
    } catch {
      return .failure(Self.withoutToken(error, calls: failure.calls))
    }
    let repeated = await request(second.token).counting(failure.calls)
    if case .failure(let failure) = repeated, failure.failureClass == .credentials {
      await tokens.newTokenWasRefused(second.generation)
    }
    return repeated
  }

  private func request(_ token: Secret?) async -> CallOutcome {
    var headers = transport.headers(token)
    headers.add(transport.endpoint.fields.idempotencyKey, idempotencyKey)
    let request = Request(
      .post, transport.endpoint.url(transport.endpoint.paths.analyze), headers: headers,
      body: .multipart(form), mayBeRepeated: false)
    do throws(CallFailure) {
      let response = try await transport.send(request, deadline: end - transport.clock.monotonic())
      return .success(
        CallAnswer(
          analysis: try await analysis(response), endpoint: transport.endpoint.name, status: response.status,
          timing: response.timing, sentBytes: response.sentBytes, connectionReused: response.connectionReused,
          calls: 1))
    } catch {
      return .failure(error)
    }
  }

  private func analysis(_ response: Response) async throws(CallFailure) -> Analysis {
    let value = try transport.checked(response)
    do throws(DecodingFailure) {
      let analysis = try AnalysisDecoder.decode(
        value, expecting: kind, normalIDs: transport.endpoint.normalIDs)
      try client.match.check(analysis, value, of: response, to: picture, now: transport.clock.now())
      return analysis
    } catch {
      // It may be another request's, and so may what follows on its connection.
      await transport.http.endConnection(of: response)
      throw Classifier.invalid(
        error,
        of: FailedAnswer(
          status: response.status, headers: response.headers, body: response.body, value: value))
    }
  }

  /// A failure to get a token, as seen by a job: its analysis was not sent, so that nothing is counted and
  /// no attempt consumed, and whatever the login was refused for is no fault of its image.
  static func withoutToken(_ failure: CallFailure, calls: Int) -> CallFailure {
    var failure = failure
    switch failure.failureClass {
    case .notSent, .overload, .server: break
    case .outcomeUnknown: failure.failureClass = .notSent
    default: failure.failureClass = .credentials
    }
    failure.calls = calls
    failure.consumesAttempt = false
    failure.maybeCounted = false
    failure.pauseUntil = nil
    return failure
  }
}

extension CallOutcome {
  /// The outcome with the requests that were made before it.
  func counting(_ calls: Int) -> CallOutcome {
    switch self {
    case .success(var answer):
      answer.calls += calls
      return .success(answer)
    case .failure(var failure):
      failure.calls += calls
      return .failure(failure)
    }
  }
}

/// How an analysis call ended.
public enum CallOutcome: Sendable {
  case success(CallAnswer)
  case failure(CallFailure)
}

/// An analysis and how it was had.
public struct CallAnswer: Sendable {
  /// The analysis.
  public var analysis: Analysis
  /// The endpoint's name.
  public var endpoint: String
  /// The HTTP status.
  public var status: Int
  /// When what happened, of the request that was answered.
  public var timing: Timing
  /// How many bytes that request sent.
  var sentBytes: Int
  /// Whether a kept-alive connection served it.
  var connectionReused: Bool
  /// How many requests were made: two when the token had ended.
  public var calls: Int
}

/// One request to the endpoint and the classification of what comes back.
struct Transport: Sendable {
  let endpoint: Endpoint
  let http: HTTPClient
  let clock: WallClock

  /// Sends a request whose answer is small JSON, and returns it.
  ///
  /// - Throws: The classified failure.
  func call(
    _ method: Method, _ path: String, token: Secret?, body: JSONValue? = nil, deadline: Duration? = nil,
    mayBeRepeated: Bool? = nil
  ) async throws(CallFailure) -> JSONPart {
    let content: Body = body.map { .bytes($0.bytes, contentType: "application/json") } ?? .none
    let request = Request(
      method, endpoint.url(path), headers: headers(token), body: content, mayBeRepeated: mayBeRepeated)
    let response = try await send(request, deadline: deadline ?? endpoint.deadlines.account)
    // Nothing to read is a whole answer to some calls; those that need content miss it by name.
    if response.body.isEmpty, (200...299).contains(response.status) { return .null }
    return try checked(response)
  }

  /// Sends a request and returns any answer.
  func send(_ request: Request, deadline: Duration) async throws(CallFailure) -> Response {
    do throws(TransferError) {
      return try await http.send(request, deadline: deadline)
    } catch {
      throw classifier.failure(of: error)
    }
  }

  /// The JSON of an answer that is no failure.
  func checked(_ response: Response) throws(CallFailure) -> JSONPart {
    try classifier.value(status: response.status, headers: response.headers, body: response.body)
  }

  private var classifier: Classifier {
    Classifier(now: clock.now(), maximumRetryAfter: endpoint.maximumRetryAfter)
  }

  /// Reads an answer's content.
  func read<Value>(_ read: () throws(DecodingFailure) -> Value) throws(CallFailure) -> Value {
    do throws(DecodingFailure) {
      return try read()
    } catch {
      throw Classifier.invalid(error)
    }
  }

  func headers(_ token: Secret?) -> Headers {
    var headers: Headers = ["Accept": "application/json"]
    if let token { headers.add("Authorization", "Bearer \(token.reveal())") }
    return headers
  }
}
