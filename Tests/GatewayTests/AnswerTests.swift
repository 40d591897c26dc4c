import Testing

@testable import Gateway
@testable import HTTPServing
@testable import Queue
@testable import Support

@Suite("What apps are answered")
struct AnswerTests {
  private func json(_ answer: HTTPAnswer) throws -> JSONValue {
    try JSONReader.read(Array(answer.body.dropLast())).value
  }

  @Test("A failure has the shape of the API's")
  func shape() throws {
    let limit = APIFailure.monthlyLimit.answer
    #expect(limit.status == 429)
    let body = try json(limit)
    #expect(body["error"] == true && body["code"] == "ANALYSIS_LIMIT_EXCEEDED")
    #expect(body["message"] == "You've reached your analysis limit for this month.")
    let slow = APIFailure.tooFast(.milliseconds(1200)).answer
    #expect(slow.status == 429 && slow.headers.contains { $0 == ("Retry-After", "2") })
    #expect(try json(slow)["code"] == nil)
    let unknown = APIFailure.unauthorized.answer
    #expect(unknown.status == 401 && unknown.headers.contains { $0 == ("WWW-Authenticate", "Bearer") })
    #expect(try json(unknown)["code"] == nil)
    #expect(try json(APIFailure.tooLarge(7).answer)["success"] == false)
  }

  @Test(
    "Each refusal of the database means something to an app",
    arguments: [
      ("quota", 429, "ANALYSIS_LIMIT_EXCEEDED"), ("key_conflict", 422, "IDEMPOTENCY_KEY_REUSED"),
      ("waiting_limit", 429, nil), ("queue_full", 503, "SERVER_ERROR"), ("storage_full", 503, "SERVER_ERROR"),
      ("plaintext_refused", 500, "SERVER_ERROR"), ("no_partition", 500, "SERVER_ERROR"),
      ("something_new", 500, "SERVER_ERROR"),
    ])
  func refusals(code: String, status: Int, expected: String?) {
    let failure = APIFailure(Refusal(code: code, user: "u"))
    #expect(failure.status == status && failure.code == expected)
    #expect((failure.retryAfter != nil) == (status == 503 || code == "waiting_limit"))
  }

  @Test("What the endpoint did not say of a condition is empty for an app, and never made up")
  func conditions() throws {
    let stored = try JSONReader.read(
      Array(#"{"id":"otitis","name":"Otitis","confidence":0.7999,"band":"orange","normal":false}"#.utf8)
    ).value
    let shape = AnswerShapes.condition(stored)
    #expect(
      shape.json
        == #"{"id":"otitis","name":"Otitis","confidence":0.7999,"description":"","symptoms":[],"#
        + #""isPotentiallySerious":false,"recommendConsultation":false,"band":"orange"}"#)
    // What is normal has no band here either, which would alarm by being sure.
    let normal = try JSONReader.read(
      Array(
        #"{"id":"normal","name":"No visible finding","confidence":0.65,"band":"orange","normal":true}"#.utf8)
    ).value
    #expect(AnswerShapes.condition(normal)["band"] == "normal")
  }

  @Test("A failed job is no analysis to anybody who decodes one, and says what the patient is to do")
  func failed() {
    #expect(
      AnswerShapes.failure(JobID(7), .died).json
        == #"{"id":"7","error":true,"message":"The photo could not be analysed. Please take it again.","code":"ANALYSIS_FAILED"}"#
    )
    #expect(AnswerShapes.failure(JobID(7), .cancelled)["code"] == "ANALYSIS_CANCELLED")
  }

  @Test(
    "A hint names jobs, and anything else names none",
    arguments: [
      ("0:1,2,3", [1, 2, 3]), ("12:7", [7]), ("", []), ("x", []), ("0:", []), ("0:a,-1,2", [2]),
    ] as [(String, [Int64])])
  func hints(payload: String, jobs: [Int64]) {
    #expect(AnalysisWaits.jobs(payload).map(\.value) == jobs)
  }

  @Test(
    "A token is read from the header that it comes in alone",
    arguments: [
      "aq1.0.\(String(repeating: "A", count: 43))", "Basic aq1.0.\(String(repeating: "A", count: 43))",
      "Bearer", "Bearer ", "Bearer aq1.0.short", "Bearer aq1.0.\(String(repeating: "A", count: 43)) x", "",
    ])
  func tokens(header: String) {
    #expect(AppToken(authorization: header) == nil)
    let good = "aq1.3.\(String(repeating: "A", count: 43))"
    for scheme in ["Bearer", "bearer"] { #expect(AppToken(authorization: "\(scheme) \(good)")?.shard == 3) }
  }
}
