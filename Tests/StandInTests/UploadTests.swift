import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import StandIn

@Suite("Uploads", .onOwnThread)
struct UploadTests {
  @Test("An analysis has the members of the API and says what it is", arguments: ["throat", "ear"])
  func members(_ type: String) throws {
    let clock = ManualClock(1_742_646_896.789)
    let endpoint = try TestEndpoint(clock: clock.clock)
    let picture = try TestPicture.jpeg()
    let answer = try endpoint.upload(picture, type: type, token: endpoint.token())
    #expect(answer.status == 200)
    #expect(answer.headers["content-type"] == "application/json")
    #expect((answer.json["id"] as? String)?.isEmpty == false)
    #expect(answer.json["type"] as? String == type)
    #expect(answer.json["timestamp"] as? String == "2025-03-22T12:34:56.789Z")
    #expect(answer.json["model"] as? String == "stand-in-colour-statistics")
    #expect((answer.json["user"] as? String)?.isEmpty == false)
    let debug = try #require(answer.json["debug_info"] as? [String: Any])
    #expect((debug["data_source"] as? String)?.contains("not a medical model") == true)
    #expect(debug["image_data_length"] as? Int == picture.count)
    #expect(debug["processing_time"] is NSNumber)
    let conditions = try #require(answer.json["conditions"] as? [[String: Any]])
    #expect((2...3).contains(conditions.count))
    for condition in conditions {
      let confidence = try #require(condition["confidence"] as? Double)
      #expect((0...1).contains(confidence))
      #expect((condition["description"] as? String)?.contains("not a medical finding") == true)
      for name in ["id", "name", "treatmentInfo", "recommendationText"] { #expect(condition[name] is String) }
      for name in ["isPotentiallySerious", "recommendConsultation"] { #expect(condition[name] is Bool) }
      #expect(condition["symptoms"] is [String])
    }
  }

  @Test("The guide's client reads times in whole seconds and whole milliseconds alone, and is sent no others")
  func wholeNumbers() throws {
    let endpoint = try TestEndpoint(clock: ManualClock(1_742_646_896.789).clock) { $0.dialect = .guide }
    let token = try endpoint.token()
    let answer = try endpoint.upload(try TestPicture.jpeg(), token: token)
    #expect(answer.json["timestamp"] as? String == "2025-03-22T12:34:56Z")
    let debug = try #require(answer.json["debug_info"] as? [String: Any])
    #expect(debug["processing_time"] is Int && answer.text.contains(/"processing_time":\d+}/))
    let body: [String: Any] = ["id": "x", "type": "ear", "conditions": []]
    let saved = try endpoint.call("POST", "/api/analyses/save", token: token, json: body).json
    #expect((saved["analysis"] as? [String: Any])?["timestamp"] as? String == "2025-03-22T12:34:56Z")
    #expect((saved["subscription"] as? [String: Any])?["lastResetDate"] as? String == "2025-03-22T12:34:56Z")
  }

  @Test("The same image is answered the same, by this endpoint and by another")
  func same() throws {
    let picture = try TestPicture.jpeg()
    let endpoint = try TestEndpoint()
    func stable(_ response: RawClient.Response) throws -> NSDictionary {
      try [
        "id": #require(response.json["id"]), "type": #require(response.json["type"]),
        "conditions": #require(response.json["conditions"]),
      ]
    }
    let first = try stable(endpoint.upload(picture, key: "a"))
    #expect(try stable(endpoint.upload(picture, key: "a")) == first)
    #expect(try stable(TestEndpoint().upload(picture, key: "a")) == first)
    #expect(try stable(endpoint.upload(picture, key: "b")) != first)
    #expect(try stable(endpoint.upload(picture, type: "ear", key: "a")) != first)
  }

  @Test(
    "Refused from exactly 5,242,880 bytes on",
    arguments: [(5_242_879, 200), (5_242_880, 413), (9_000_000, 413)])
  func sizeLimit(_ size: Int, _ status: Int) throws {
    var image = try TestPicture.jpeg()
    image += [UInt8](repeating: 0, count: size - image.count)
    let answer = try TestEndpoint().upload(image)
    #expect(answer.status == status)
    if status == 413 {
      #expect(answer.json["error"] as? Bool == true)
      #expect(answer.json["success"] as? Bool == false)
      #expect(answer.json["code"] as? String == "LIMIT_FILE_SIZE")
    }
  }

  @Test("A form that lacks something is refused with what it lacks")
  func incomplete() throws {
    let endpoint = try TestEndpoint()
    let picture = try TestPicture.jpeg()
    func code(_ body: [UInt8], _ headers: [String: String] = TestEndpoint.uploadHeaders()) throws -> String? {
      let answer = try endpoint.client().request("POST", "/api/analyze", headers: headers, body: body)
      #expect(answer.status == 400)
      return answer.json["code"] as? String
    }
    #expect(try code(TestEndpoint.form(picture, type: "nose")) == "INVALID_MODEL_TYPE")
    #expect(try code(TestEndpoint.form(picture, file: "photo")) == "INVALID_FIELD_NAME")
    #expect(try code(TestEndpoint.form([])) == "MISSING_IMAGE")
    #expect(try code(TestEndpoint.form(picture).dropLast(20)) == "MISSING_REQUEST_BODY")
    #expect(try code(Array("{}".utf8), ["Content-Type": "application/json"]) == "MISSING_REQUEST_BODY")
    #expect(try code(TestEndpoint.form(Array("GIF89a...".utf8))) == "INVALID_IMAGE_FORMAT")
  }

  @Test(
    "What the real server's parser takes is taken",
    arguments: [
      "multipart/form-data; Boundary=b0undary", "Multipart/Form-Data;BOUNDARY=\"b0undary\"",
      "multipart/form-data; boundary=b0undary; charset=utf-8",
      "multipart/form-data; charset=utf-8; boundary=b0undary",
    ])
  func contentTypes(_ type: String) throws {
    let form =
      try Array("a preamble\r\n".utf8) + TestEndpoint.form(TestPicture.jpeg())
      + Array("an epilogue\r\n--x".utf8)
    let endpoint = try TestEndpoint()
    let answer = try endpoint.client().request(
      "POST", "/api/analyze", headers: ["Content-Type": type], body: form)
    #expect(answer.status == 200, "\(answer.text)")
  }

  @Test("Two images are refused")
  func twoImages() throws {
    let picture = try TestPicture.jpeg()
    let form = TestEndpoint.form(picture).dropLast("--b0undary--\r\n".utf8.count) + TestEndpoint.form(picture)
    let endpoint = try TestEndpoint()
    let answer = try endpoint.client().request(
      "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(), body: Array(form))
    #expect(answer.status == 400)
    #expect(answer.json["code"] as? String == "INVALID_FIELD_NAME")
  }

  @Test("Of 1000 good answers some have a processing time of -1, in the server's dialect only")
  func negativeTimes() throws {
    for dialect in EndpointConfiguration.Dialect.allCases {
      let endpoint = try TestEndpoint {
        $0.dialect = dialect
        $0.decodesPictures = false
      }
      let client = try endpoint.client()
      let form = TestEndpoint.form([0xff, 0xd8, 0xff, 1])
      var negative = 0
      for number in 0..<1000 {
        let headers = TestEndpoint.uploadHeaders(key: "key-\(number)")
        let answer = try client.request("POST", "/api/analyze", headers: headers, body: form)
        let debug = try #require(answer.json["debug_info"] as? [String: Any])
        if debug["processing_time"] as? Double == -1 { negative += 1 }
      }
      #expect(dialect == .guide ? negative == 0 : (1...25).contains(negative), "\(negative)")
    }
  }

  @Test("Many uploads go over one connection")
  func keptAlive() throws {
    let endpoint = try TestEndpoint()
    let client = try endpoint.client()
    for red in UInt8(0)..<20 {
      let body = try TestEndpoint.form(TestPicture.jpeg(red: red * 10))
      let answer = try client.request(
        "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(), body: body)
      #expect(answer.status == 200)
    }
    #expect(endpoint.server.statistics.outcomes == ["analysis": 20])
    #expect(endpoint.server.statistics.maximumInFlight == 1)
  }

  @Test("A delay holds no thread, and stopping lets delayed answers out")
  func delay() throws {
    let endpoint = try TestEndpoint { $0.delay = .seconds(3600) }
    let clients = try (0..<10).map { _ in try endpoint.client() }
    for client in clients {
      try client.send(
        "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(),
        body: TestEndpoint.form(TestPicture.jpeg()))
    }
    try endpoint.wait { $0.outcomes["analysis"] == 10 }
    #expect(endpoint.server.statistics.maximumInFlight == 10)
    endpoint.server.stop()
    for client in clients { #expect(client.receive().status == 200) }
  }

  @Test("A short delay passes by itself")
  func shortDelay() throws {
    let endpoint = try TestEndpoint { $0.delay = .milliseconds(5) }
    #expect(try endpoint.upload(TestPicture.jpeg()).status == 200)
  }

  @Test("A failure strikes the tries of a key, not its connection")
  func tries() throws {
    let endpoint = try TestEndpoint {
      $0.faults = try FaultPlan(seed: 1, rules: [FaultRule(.unavailable, share: 1, lastTry: 2)])
    }
    let picture = try TestPicture.jpeg()
    #expect(try (1...3).map { _ in try endpoint.upload(picture, key: "a").status } == [503, 503, 200])
    #expect(try endpoint.upload(picture, key: "b").status == 503)
    #expect(endpoint.server.statistics.keys == 2)
    #expect(endpoint.server.statistics.repeatedTries == 2)
  }

  @Test("Without decoding, results are drawn from the digest and say so")
  func undecoded() throws {
    let endpoint = try TestEndpoint { $0.decodesPictures = false }
    let answer = try endpoint.upload([0xff, 0xd8, 0xff, 1, 2, 3])
    #expect(answer.status == 200)
    #expect(answer.json["model"] as? String == "stand-in-digest")
    #expect(try endpoint.upload(Array("GIF89a".utf8)).status == 400)
  }

  @Test("The log has a line for each upload, without token, address or image")
  func log() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("uploads.log")
    let endpoint = try TestEndpoint {
      $0.logPath = path
      $0.faults = try FaultPlan(seed: 1, rules: [FaultRule(.unavailable, share: 1, lastTry: 1)])
    }
    let (picture, token) = (try TestPicture.jpeg(), try endpoint.token())
    for _ in 0..<2 { _ = try endpoint.upload(picture, token: token, key: "job \"7\"") }
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(lines.map { $0["outcome"] as? String } == ["503", "analysis"])
    #expect(lines.map { $0["status"] as? Int } == [503, 200])
    #expect(lines.map { $0["try"] as? Int } == [1, 2])
    #expect(lines.allSatisfy { $0["key"] as? String == "job \"7\"" && $0["bytes"] as? Int == picture.count })
    #expect(lines.allSatisfy { ($0["image"] as? String)?.count == 32 && $0["in_flight"] as? Int == 1 })
    #expect(!text.contains(token) && !text.contains("ada@"))
  }
}
