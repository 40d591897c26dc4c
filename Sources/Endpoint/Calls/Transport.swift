internal import HTTPTransfer
internal import Support

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
