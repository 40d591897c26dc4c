import HTTPTransfer
import Testing

@testable import Endpoint
@testable import Support

@Suite("The classes of failure")
struct ClassifierTests {
  static let now = 1_742_646_896.0  // 2025-03-22T12:34:56Z

  private func classify(_ status: Int, _ body: String = "", _ headers: Headers = [:]) -> CallFailure? {
    let classifier = Classifier(now: Self.now, maximumRetryAfter: .seconds(600))
    return classifier.failure(status: status, headers: headers, body: Array(body.utf8))
  }

  private func classify(
    _ code: TransferError.Code, _ phase: TransferError.Phase, notSent: Bool = false,
    answer: ResponseHead? = nil
  ) -> CallFailure {
    Classifier(now: Self.now).failure(
      of: TransferError(code, phase: phase, certainlyNotSent: notSent, message: "It failed.", answer: answer))
  }

  /// What is expected of a failed answer.
  struct Row: Sendable, CustomTestStringConvertible {
    let status: Int
    let body: String
    let kind: FailureClass
    var consumes = true
    var isFinal = false
    var maybeCounted = false

    var testDescription: String { "\(status) \(body.prefix(60)) is \(kind.rawValue)" }
  }

  private static func code(_ code: String) -> String { #"{"error":true,"message":"m","code":"\#(code)"}"# }

  static let rows: [Row] = [
    Row(status: 400, body: "", kind: .permanent, isFinal: true),
    Row(status: 413, body: "<html>413</html>", kind: .permanent, isFinal: true),
    Row(status: 413, body: code("LIMIT_FILE_SIZE"), kind: .permanent, isFinal: true),
    Row(status: 415, body: "", kind: .permanent, isFinal: true),
    Row(status: 422, body: "{}", kind: .permanent, isFinal: true),
    Row(status: 400, body: code("MISSING_IMAGE"), kind: .permanent, isFinal: true),
    Row(status: 400, body: code("INVALID_MODEL_TYPE"), kind: .permanent, isFinal: true),
    Row(status: 400, body: code("MISSING_REQUEST_BODY"), kind: .permanent, isFinal: true),
    Row(status: 400, body: code("INVALID_FIELD_NAME"), kind: .permanent, isFinal: true),
    Row(status: 400, body: code("LIMIT_FILE_SIZE"), kind: .permanent, isFinal: true),
    Row(status: 500, body: code("INVALID_IMAGE_FORMAT"), kind: .permanent, isFinal: true, maybeCounted: true),
    Row(status: 200, body: code("INVALID_IMAGE_FORMAT"), kind: .permanent, isFinal: true, maybeCounted: true),
    Row(status: 200, body: code("SERVER_ERROR"), kind: .server, maybeCounted: true),
    Row(status: 200, body: #"{"error":true}"#, kind: .invalidAnswer, maybeCounted: true),
    Row(status: 200, body: #"{"error":"the model crashed"}"#, kind: .invalidAnswer, maybeCounted: true),
    Row(status: 200, body: code("NEVER_SEEN"), kind: .invalidAnswer, maybeCounted: true),
    Row(
      status: 200,
      body:
        #"{"id":"a","type":"ear","conditions":[{"id":"analysis_error","confidence":0,"isError":true,"error":"x"}]}"#,
      kind: .invalidAnswer, maybeCounted: true),
    Row(status: 401, body: #"{"error":true,"message":"Token expired"}"#, kind: .credentials, consumes: false),
    Row(status: 401, body: "", kind: .credentials, consumes: false),
    Row(status: 400, body: code("INVALID_CREDENTIALS"), kind: .credentials, consumes: false),
    Row(status: 403, body: "", kind: .permission, consumes: false),
    Row(status: 404, body: "<html>", kind: .permission, consumes: false),
    Row(status: 405, body: "", kind: .permission, consumes: false),
    Row(status: 403, body: code("ANALYSIS_LIMIT_EXCEEDED"), kind: .serviceLimit, consumes: false),
    Row(status: 429, body: code("ANALYSIS_LIMIT_EXCEEDED"), kind: .serviceLimit, consumes: false),
    Row(status: 200, body: code("ANALYSIS_LIMIT_EXCEEDED"), kind: .serviceLimit, consumes: false),
    Row(status: 500, body: code("ANALYSIS_LIMIT_EXCEEDED"), kind: .serviceLimit, consumes: false),
    Row(status: 429, body: "", kind: .overload, consumes: false),
    Row(status: 429, body: code("TOO_MANY_REQUESTS"), kind: .overload, consumes: false),
    Row(status: 408, body: "", kind: .overload, consumes: false),
    Row(status: 503, body: "<html>", kind: .overload),
    Row(status: 503, body: code("SERVER_ERROR"), kind: .overload),
    Row(status: 500, body: "", kind: .server, maybeCounted: true),
    Row(status: 500, body: code("CRITICAL_ERROR"), kind: .server, maybeCounted: true),
    Row(status: 502, body: "<html>Bad gateway</html>", kind: .server, maybeCounted: true),
    Row(status: 504, body: "", kind: .server, maybeCounted: true),
    Row(status: 599, body: "", kind: .server, maybeCounted: true),
    Row(status: 409, body: "", kind: .server, maybeCounted: true),
    Row(status: 301, body: "", kind: .redirect, isFinal: true),
    Row(status: 302, body: "", kind: .redirect, isFinal: true),
    Row(status: 307, body: "", kind: .redirect, isFinal: true),
    Row(status: 308, body: "", kind: .redirect, isFinal: true),
  ]

  @Test("of an answer come from its body's code first and its status second", arguments: rows)
  func answers(row: Row) throws {
    let failure = try #require(classify(row.status, row.body))
    #expect(failure.failureClass == row.kind)
    #expect(failure.consumesAttempt == row.consumes)
    #expect(failure.isFinal == row.isFinal)
    #expect(failure.maybeCounted == row.maybeCounted)
    #expect(failure.status == row.status)
    #expect(failure.calls == 1)
    #expect(!failure.message.isEmpty)
    #expect((failure.pauseUntil != nil) == (row.kind == .serviceLimit))
  }

  @Test("are none for an answer of 2xx that reports no failure", arguments: [200, 201, 204])
  func success(status: Int) {
    #expect(classify(status, Samples.analysis) == nil)
    #expect(classify(status, "[]") == nil)
  }

  @Test("of an answer of 2xx that is no JSON are those of an invalid answer", arguments: ["", "<html>", "{"])
  func unreadable(body: String) throws {
    let failure = try #require(classify(200, body))
    #expect(failure.failureClass == .invalidAnswer)
    #expect(failure.maybeCounted && failure.consumesAttempt && !failure.isFinal)
    #expect(failure.status == 200 && failure.calls == 1)
    let shape = "It had status 200, no content type and \(body.utf8.count) bytes."
    #expect(failure.evidence == (body.isEmpty ? nil : shape))
  }

  @Test(
    "of a request without an answer depend on whether anything was sent",
    arguments: [
      (
        TransferError.Code.connectionRefused, TransferError.Phase.connecting, true, FailureClass.notSent,
        false
      ),
      (.connectFailed, .connecting, true, .notSent, false),
      (.nameNotResolved, .connecting, true, .notSent, false),
      (.tlsFailed, .connecting, true, .notSent, false),
      (.certificateRefused, .connecting, true, .notSent, false),
      (.timedOut, .connecting, true, .notSent, false), (.timedOut, .sending, false, .outcomeUnknown, true),
      (.timedOut, .waiting, false, .outcomeUnknown, true),
      (.timedOut, .receiving, false, .outcomeUnknown, true),
      (.connectionReset, .sending, false, .outcomeUnknown, true),
      (.connectionReset, .waiting, false, .outcomeUnknown, true),
      (.sendFailed, .sending, false, .outcomeUnknown, true),
      (.receiveFailed, .waiting, false, .outcomeUnknown, true),
      (.answerTooLarge, .receiving, false, .invalidAnswer, true),
      (.answerTruncated, .receiving, false, .invalidAnswer, true),
      (.answerEncoded, .receiving, false, .invalidAnswer, true),
      (.headersTooLarge, .receiving, false, .invalidAnswer, true),
      (.protocolViolation, .receiving, false, .invalidAnswer, true),
      (.refusedByPolicy, .preparing, true, .notSent, false),
      (.invalidRequest, .preparing, true, .notSent, false),
      (.outOfDescriptors, .connecting, true, .notSent, false),
      (.cancelled, .preparing, true, .notSent, false), (.cancelled, .waiting, false, .outcomeUnknown, false),
      (.closed, .sending, false, .outcomeUnknown, false),
    ])
  func transfers(
    code: TransferError.Code, phase: TransferError.Phase, notSent: Bool, kind: FailureClass, consumes: Bool
  ) {
    let failure = classify(code, phase, notSent: notSent)
    #expect(failure.failureClass == kind)
    #expect(failure.consumesAttempt == consumes)
    #expect(failure.maybeCounted == !notSent)
    #expect(failure.calls == (notSent ? 0 : 1))
    #expect(failure.wasCancelled == (code == .cancelled || code == .closed))
    #expect(failure.isRefusedHere == (code == .refusedByPolicy || code == .invalidRequest))
    #expect(!failure.isFinal)
  }

  @Test(
    "of an answer that was cut are its status's",
    arguments: [
      (413, TransferError.Code.connectionReset, FailureClass.permanent), (503, .answerTooLarge, .overload),
      (500, .answerEncoded, .server), (401, .answerTruncated, .credentials),
      (302, .answerTruncated, .redirect),
      (200, .answerTruncated, .invalidAnswer), (200, .connectionReset, .invalidAnswer),
      (200, .timedOut, .outcomeUnknown),
      (503, .timedOut, .overload), (413, .cancelled, .outcomeUnknown),
    ])
  func cut(status: Int, code: TransferError.Code, kind: FailureClass) {
    let failure = classify(code, .receiving, answer: ResponseHead(status: status))
    #expect(failure.failureClass == kind)
    #expect(failure.status == status)
  }

  @Test(
    "obey Retry-After, as seconds or a date, within bounds",
    arguments: [
      ("30", Duration.seconds(30)), ("0", .zero), ("86400", .seconds(600)),
      ("99999999999999999999", .seconds(600)),
      ("Sat, 22 Mar 2025 12:35:56 GMT", .seconds(60)), ("Sat, 22 Mar 2025 12:00:00 GMT", .zero),
      ("soon", nil), ("-5", nil),
    ] as [(String, Duration?)])
  func retryAfter(value: String, expected: Duration?) throws {
    for status in [429, 503, 408, 500] {
      #expect(try #require(classify(status, "", ["Retry-After": value])).retryAfter == expected)
    }
    #expect(try #require(classify(400, "", ["Retry-After": value])).retryAfter == nil)
  }

  @Test("pause the service account until the given time, or else the next month")
  func serviceLimit() throws {
    let body = Self.code("ANALYSIS_LIMIT_EXCEEDED")
    #expect(try #require(classify(429, body)).pauseUntil == 1_743_465_600)  // 2025-04-01T00:00:00Z
    #expect(try #require(classify(429, body, ["Retry-After": "7200"])).pauseUntil == Self.now + 7200)
    #expect(
      try #require(classify(429, body, ["Retry-After": "999999999"])).pauseUntil == Self.now + 32 * 86_400)
  }

  @Test("keep the backend's message, code and error id, cleaned")
  func facts() throws {
    let failure = try #require(
      classify(
        500,
        #"{"error":true,"message":"No\u0000 model for a@b.org","code":"CRITICAL_ERROR","error_id":"err-1_2"}"#
      ))
    #expect(failure.message == "No model for [redacted]")
    #expect(failure.code == "CRITICAL_ERROR")
    #expect(failure.errorID == "err-1_2")
    #expect(failure.evidence == nil)
    #expect(failure.description == "No model for [redacted] (status 500, CRITICAL_ERROR)")
    let odd = try #require(classify(500, #"{"code":"Jane Doe","error_id":"a@b.org"}"#))
    #expect(odd.code == nil)
    #expect(odd.errorID == nil)
  }

  @Test("of a failed inference keep its code and its number, and say which members it had")
  func inference() throws {
    let body =
      #"{"id":"a","type":"ear","conditions":[{"id":"analysis_error","isError":true,"error":"shape mismatch"}],"error_id":"e1"}"#
    let failure = try #require(classify(200, body, ["Content-Type": "application/json; charset=utf-8"]))
    #expect(failure.code == "analysis_error")
    #expect(failure.message == "The endpoint's model failed.")
    #expect(failure.errorID == "e1")
    #expect(
      failure.evidence
        == "It had status 200, the content type application/json and \(body.utf8.count) bytes; its members: id, type, "
        + "conditions, error_id.")
  }

  /// Answers that hold a finding, each in another place.
  static let findings: [(Int, String, Headers)] = [
    (200, "<html>quinsy</html>", [:]), (200, #"{"id":"quinsy","type":"throat","#, [:]),
    (200, #"{"id":"a","type":"quinsy","conditions":[]}"#, [:]),
    (200, #"{"error":true,"message":"quinsy","code":"quinsy","error_id":"quinsy-1"}"#, [:]),
    (200, #"{"error":"quinsy"}"#, [:]), (200, #"{"error":{"message":"quinsy","code":"quinsy"}}"#, [:]),
    (201, #"{"quinsy":1,"error":true}"#, ["Content-Type": "quinsy/json"]),
    (299, #"{"conditions":[{"id":"quinsy","isError":true,"error":"quinsy","message":"quinsy"}]}"#, [:]),
    (200, #"{"conditions":[{"id":"x","error_note":"quinsy"}],"error_id":"quinsy"}"#, [:]),
    (200, #""quinsy""#, ["Content-Type": "quinsy"]),
    (500, #"{"conditions":[{"id":"quinsy"}],"message":"quinsy","code":"quinsy","error_id":"quinsy"}"#, [:]),
  ]

  @Test("say nothing of what an answer of 2xx holds, nor of conditions under any status", arguments: findings)
  func silence(status: Int, body: String, headers: Headers) throws {
    let classifier = Classifier(now: Self.now)
    let bytes = Array(body.utf8)
    let failure: CallFailure
    switch Result(catching: { () throws(CallFailure) in
      try classifier.value(status: status, headers: headers, body: bytes)
    }) {
    case .failure(let error): failure = error
    case .success(let value):
      let error = #expect(throws: DecodingFailure.self) {
        try AnalysisDecoder.decode(value, expecting: .throat, normalIDs: [])
      }
      failure = Classifier.invalid(
        try #require(error), of: FailedAnswer(status: status, headers: headers, body: bytes, value: value))
    }
    #expect(failure.evidence?.contains("\(body.utf8.count) bytes") == true)
    var told = ""
    dump(failure, to: &told)
    #expect(!told.contains("quinsy"), "\(told)")
  }

  @Test("count the members that are not the API's, and name those that are")
  func members() throws {
    let failure = try #require(classify(200, #"{"error":true,"quinsy":1,"otitis":2,"user":{}}"#))
    #expect(failure.evidence?.hasSuffix("bytes; its members: user, error, 2 others.") == true)
  }

  @Test("show the beginning of a page that is not the API's, redacted")
  func excerpt() throws {
    let page = "<html><body>Proxy error for user a@b.org</body>\(String(repeating: "x ", count: 500))"
    let failure = try #require(classify(502, page))
    let evidence = try #require(failure.evidence)
    #expect(evidence.hasPrefix("It began: <html><body>Proxy error for user [redacted]"))
    #expect(evidence.unicodeScalars.count <= 210)
  }
}
