internal import AnalysisCore
import Formatting
internal import HTTPTransfer
internal import Operations

/// One request to the backend and the classification of what comes back.
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
  ) async throws(CallFailure) -> JSONValue {
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
      throw TransferRules.classify(error, now: clock.now(), maximumRetryAfter: endpoint.maximumRetryAfter)
    }
  }

  /// The JSON of an answer that is no failure.
  func checked(_ response: Response) throws(CallFailure) -> JSONValue {
    let value: JSONValue?
    var problem: JSONFailure?
    do {
      value = try JSONReader.read(response.body)
    } catch {
      value = nil
      problem = error
    }
    let isSuccess = (200...299).contains(response.status)
    if !isSuccess || value.flatMap(ReportedFailure.init(answer:)) != nil {
      let answer = FailedAnswer(
        status: response.status, headers: response.headers, body: response.body, value: value)
      throw AnswerRules(now: clock.now(), maximumRetryAfter: endpoint.maximumRetryAfter).classify(answer)
    }
    guard let value else {
      throw invalid(problem.map { DecodingFailure($0) } ?? DecodingFailure("", "is not JSON"), response)
    }
    return value
  }

  /// The failure of an answer that is well but for its content.
  func invalid(_ failure: DecodingFailure, _ response: Response? = nil) -> CallFailure {
    var result = CallFailure(.invalidAnswer, failure.description, maybeCounted: true)
    result.status = response?.status
    result.excerpt = response.flatMap { Redaction.excerpt($0.body) }
    result.calls = 1
    return result
  }

  /// Reads an answer's content.
  func read<Value>(_ read: () throws(DecodingFailure) -> Value) throws(CallFailure) -> Value {
    do throws(DecodingFailure) {
      return try read()
    } catch {
      throw invalid(error)
    }
  }

  func headers(_ token: Secret?) -> Headers {
    var headers: Headers = ["Accept": "application/json"]
    if let token { headers.add("Authorization", "Bearer \(token.reveal())") }
    return headers
  }
}
