import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import StandIn

@Suite("How each failure looks to a client", .onOwnThread)
struct FaultAnswerTests {
  @Test(
    "A failure by status has its status and code",
    arguments: [
      (FaultClass.badRequest, 400, nil), (.unauthorized, 401, nil), (.forbidden, 403, nil),
      (.requestTimeout, 408, nil), (.contentTooLarge, 413, "LIMIT_FILE_SIZE"), (.unsupportedMedia, 415, nil),
      (.unprocessable, 422, "INVALID_IMAGE_FORMAT"), (.tooMany, 429, nil),
      (.serverError, 500, "SERVER_ERROR"),
      (.unavailable, 503, nil), (.criticalError, 500, "CRITICAL_ERROR"),
      (.limitExceeded, 429, "ANALYSIS_LIMIT_EXCEEDED"),
      (.limitExceededForbidden, 403, "ANALYSIS_LIMIT_EXCEEDED"),
      (.errorTrue, 200, "SERVER_ERROR"), (.errorTrueImageFormat, 200, "INVALID_IMAGE_FORMAT"),
    ] as [(FaultClass, Int, String?)])
  func statuses(_ fault: FaultClass, _ status: Int, _ code: String?) throws {
    let endpoint = try TestEndpoint.failing(fault)
    let answer = try endpoint.upload(TestPicture.jpeg())
    #expect(answer.status == status)
    #expect(answer.json["error"] as? Bool == true)
    #expect((answer.json["message"] as? String)?.isEmpty == false)
    #expect(answer.json["code"] as? String == code)
    #expect(endpoint.server.statistics.outcomes == [fault.rawValue: 1])
  }

  @Test(
    "A gateway's failure is a page",
    arguments: [(FaultClass.badGateway, 502), (.gatewayTimeout, 504), (.html, 200)])
  func pages(_ fault: FaultClass, _ status: Int) throws {
    let answer = try TestEndpoint.failing(fault).upload(TestPicture.jpeg())
    #expect(answer.status == status)
    #expect(answer.headers["content-type"] == "text/html")
    #expect(answer.text.hasPrefix("<!DOCTYPE html>"))
  }

  @Test(
    "Retry-After comes in seconds and as a date",
    arguments: [
      (FaultClass.tooManyRetryAfter, 429, "30"), (.unavailableRetryAfter, 503, "30"),
      (.tooManyRetryAfterDate, 429, "Sat, 22 Mar 2025 12:35:26 GMT"),
    ])
  func retryAfter(_ fault: FaultClass, _ status: Int, _ value: String) throws {
    let endpoint = try TestEndpoint(clock: ManualClock(1_742_646_896).clock) {
      $0.faults = try FaultPlan(seed: 1, rules: [FaultRule(fault, share: 1)])
      $0.retryAfter = 30
    }
    let answer = try endpoint.upload(TestPicture.jpeg())
    #expect(answer.status == status)
    #expect(answer.headers["retry-after"] == value)
  }

  @Test("A string stands where a boolean is usual")
  func errorString() throws {
    let answer = try TestEndpoint.failing(.errorString).upload(TestPicture.jpeg())
    #expect(answer.status == 500)
    #expect(answer.json["error"] is String)
  }

  @Test("A redirect names another host")
  func redirect() throws {
    let answer = try TestEndpoint.failing(.redirect).upload(TestPicture.jpeg())
    #expect(answer.status == 307)
    #expect(answer.headers["location"] == "https://elsewhere.invalid/api/analyze")
  }

  @Test("A reset connection ends with RST after the whole request was read")
  func reset() throws {
    let endpoint = try TestEndpoint.failing(.reset)
    let answer = try endpoint.upload(TestPicture.jpeg())
    #expect(answer.status == 0)
    #expect(answer.ending == .reset)
    #expect(endpoint.server.statistics.outcomes == ["reset": 1])
  }

  @Test("A timeout never answers, and stopping the endpoint cuts it")
  func timeout() throws {
    let endpoint = try TestEndpoint.failing(.timeout)
    let client = try endpoint.client()
    try client.send(
      "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(),
      body: TestEndpoint.form(TestPicture.jpeg()))
    try endpoint.wait { !$0.outcomes.isEmpty }
    #expect(endpoint.server.statistics.inFlight == 1)
    endpoint.server.stop()
    let answer = client.receive()
    #expect(answer.status == 0)
    #expect(answer.ending == .closedEarly)
  }

  @Test("A held connection is let go when its client has gone")
  func abandoned() throws {
    let endpoint = try TestEndpoint.failing(.timeout)
    let client = try endpoint.client()
    try client.send(
      "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(),
      body: TestEndpoint.form(TestPicture.jpeg()))
    try endpoint.wait { !$0.outcomes.isEmpty }
    #expect(endpoint.server.statistics.inFlight == 1)
    client.close()
    try endpoint.wait { $0.inFlight == 0 }
  }

  @Test("A slow body is a valid answer in many pieces")
  func slow() throws {
    let answer = try TestEndpoint.failing(.slow).upload(TestPicture.jpeg())
    #expect(answer.ending == .complete)
    #expect(answer.json["type"] as? String == "throat")
  }

  @Test("A truncated body is shorter than announced")
  func truncated() throws {
    let answer = try TestEndpoint.failing(.truncated).upload(TestPicture.jpeg())
    #expect(answer.status == 200)
    #expect(answer.ending == .closedEarly)
    #expect(Int(answer.headers["content-length"] ?? "") == answer.body.count + 100)
  }

  @Test("Bodies that are no answer", arguments: [FaultClass.badJSON, .empty])
  func noAnswer(_ fault: FaultClass) throws {
    let answer = try TestEndpoint.failing(fault).upload(TestPicture.jpeg())
    #expect(answer.status == 200)
    #expect(answer.json.isEmpty)
    #expect(answer.body.isEmpty == (fault == .empty))
  }

  @Test("A huge body is a valid analysis of more than 2 MiB")
  func huge() throws {
    let answer = try TestEndpoint.failing(.huge).upload(TestPicture.jpeg())
    #expect(answer.body.count > 2 << 20)
    #expect(answer.json["conditions"] is [Any])
  }

  @Test("The gzip bomb is a whole stream of 64 MiB in half a MiB")
  func gzipBomb() async throws {
    let answer = try TestEndpoint.failing(.gzipBomb).upload(TestPicture.jpeg())
    #expect(answer.headers["content-encoding"] == "gzip")
    #expect(answer.body.count < 512 << 10)
    let length = try await HelperProgram.output(
      "/bin/bash", ["-c", "set -o pipefail; gzip -dc | wc -c"], input: answer.body)
    #expect(String(decoding: length, as: UTF8.self) == "67108864\n")
  }

  @Test("An inference failure is a 200 whose one condition is an error")
  func analysisError() throws {
    let answer = try TestEndpoint.failing(.analysisError).upload(TestPicture.jpeg())
    let conditions = try #require(answer.json["conditions"] as? [[String: Any]])
    #expect(answer.status == 200)
    #expect(conditions.count == 1)
    #expect(conditions[0]["id"] as? String == "analysis_error")
    #expect(conditions[0]["name"] as? String == "Analysis error")
    #expect(conditions[0]["isError"] as? Bool == true)
    #expect(conditions[0]["symptoms"] == nil)
  }

  @Test("A made-up answer is a 200 whose one condition looks well but for its note")
  func fallback() throws {
    let answer = try TestEndpoint.failing(.fallback).upload(TestPicture.jpeg())
    let conditions = try #require(answer.json["conditions"] as? [[String: Any]])
    #expect(answer.status == 200)
    #expect(conditions.map { $0["id"] as? String } == ["infected"])
    #expect(conditions[0]["confidence"] as? Double == 0.5)
    #expect(conditions[0]["error"] as? String == "")
    #expect(conditions[0]["error_note"] as? String == "This is a fallback result due to an error")
  }

  @Test("A bad confidence is above 1, below 0, no number or a text, by the key")
  func badConfidence() throws {
    let endpoint = try TestEndpoint.failing(.badConfidence)
    let picture = try TestPicture.jpeg()
    var seen: Set<String> = []
    for number in 0..<40 {
      let text = try endpoint.upload(picture, key: "key-\(number)").text
      for wrong in ["1.5", "-0.1", "NaN", "\"high\""] where text.contains("\"confidence\":\(wrong),") {
        seen.insert(wrong)
      }
    }
    #expect(seen.count == 4)
  }

  @Test("A member that must be there is missing or wrong")
  func wrongMembers() throws {
    let picture = try TestPicture.jpeg()
    #expect(try TestEndpoint.failing(.wrongType).upload(picture).json["type"] as? String == "ear")
    let withoutID = try TestEndpoint.failing(.missingID).upload(picture).json
    #expect(withoutID["id"] == nil && withoutID["type"] != nil)
    let withoutConditions = try TestEndpoint.failing(.missingConditions).upload(picture).json
    #expect(withoutConditions["conditions"] == nil && withoutConditions["id"] != nil)
  }

  @Test("Unusual answers are valid")
  func unusual() throws {
    let picture = try TestPicture.jpeg()
    func answer(_ fault: FaultClass) throws -> [String: Any] {
      try TestEndpoint.failing(fault).upload(picture).json
    }
    #expect(try answer(.errorFalse)["error"] as? Bool == false)
    #expect(try answer(.secondsTimestamp)["timestamp"] is NSNumber)
    let createdAt = try answer(.createdAt)
    #expect(createdAt["timestamp"] == nil)
    #expect((createdAt["created_at"] as? String)?.contains(".") == false)
    #expect((try answer(.noFindings)["conditions"] as? [Any])?.isEmpty == true)
    let sparse = try #require(try answer(.sparse)["conditions"] as? [[String: Any]])
    #expect(sparse.allSatisfy { Set($0.keys) == ["id", "name", "confidence", "description"] })
    #expect((try answer(.negativeTime)["debug_info"] as? [String: Any])?["processing_time"] as? Double == -1)
    let newer = try #require(try answer(.newerModel)["conditions"] as? [[String: Any]])
    #expect(newer.map { $0["id"] as? String } == ["normal"])
  }
}
