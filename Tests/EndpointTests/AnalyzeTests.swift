import HTTPTransfer
import TestSupport
import Testing

@testable import Endpoint
@testable import Support

@Suite("An analysis call")
struct AnalyzeTests {
  @Test("sends kind, image and the job's key with the token, and brings a checked analysis")
  func success() async throws {
    let backend = try FakeBackend { request in
      request.target == "/api/login" ? Reply(200, Samples.login("token-1")) : Reply(200, Samples.answer)
    }
    let image = (0..<150_000).map { UInt8(truncatingIfNeeded: $0) }
    try await withClient(of: backend) { client in
      for key in ["1-17", "1-18"] {
        guard
          case .success(let answer) = await client.analyze(image: image, kind: .throat, idempotencyKey: key)
        else {
          Issue.record("no answer")
          return
        }
        #expect(answer.analysis.primary?.id == "strep_throat")
        #expect(answer.endpoint == "test")
        #expect(answer.calls == 1)
        #expect(answer.sentBytes > image.count)
        #expect(answer.connectionReused)
        #expect(answer.timing.total > .zero)
      }
    }
    let requests = backend.requests(to: "/api/analyze")
    #expect(requests.map { $0.headers["idempotency-key"] } == ["1-17", "1-18"])
    let request = try #require(requests.first)
    #expect(request.method == "POST")
    #expect(request.authorization == "Bearer token-1")
    #expect(request.headers["accept"] == "application/json")
    let type = try #require(request.headers["content-type"])
    let prefix = "multipart/form-data; boundary="
    try #require(type.hasPrefix(prefix))
    let boundary = type.dropFirst(prefix.count)
    let expected =
      Array(
        ("--\(boundary)\r\nContent-Disposition: form-data; name=\"type\"\r\n\r\nthroat\r\n--\(boundary)\r\n"
          + "Content-Disposition: form-data; name=\"image\"; filename=\"image.jpg\"\r\n"
          + "Content-Type: image/jpeg\r\n\r\n").utf8) + image + Array("\r\n--\(boundary)--\r\n".utf8)
    #expect(request.body == expected)
  }

  @Test("goes without a token where there are no credentials, and reports a 401 at once")
  func anonymous() async throws {
    let backend = try FakeBackend { $0.authorization == nil ? Reply(401) : Reply(500) }
    try await withClient(of: backend, credentials: nil) { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == .credentials)
      #expect(failure.calls == 1)
    }
    #expect(backend.requests.count == 1)
  }

  @Test(
    "fails by the class of what comes back",
    arguments: [
      (200, "<html>Welcome</html>", FailureClass.invalidAnswer), (200, "", .invalidAnswer),
      (200, #"{"id":"a","type":"throat""#, .invalidAnswer),
      (200, #"{"id":"a","type":"ear","conditions":[]}"#, .invalidAnswer),
      (200, #"{"error":true,"code":"INVALID_IMAGE_FORMAT","message":"no"}"#, .permanent),
      (200, #"{"id":"a","type":"throat","conditions":[],"success":false}"#, .invalidAnswer),
      (200, #"{"id":"a","type":"throat","conditions":[],"status":"Error"}"#, .invalidAnswer),
      (200, #"{"success":false,"code":"INVALID_IMAGE_FORMAT"}"#, .permanent),
      (413, "", .permanent), (429, #"{"error":true,"code":"ANALYSIS_LIMIT_EXCEEDED"}"#, .serviceLimit),
      (429, "", .overload), (500, "", .server), (307, "", .redirect), (403, "", .permission),
    ])
  func classes(status: Int, body: String, kind: FailureClass) async throws {
    let backend = try FakeBackend { _ in Reply(status, body, headers: ["Location: https://example.org/"]) }
    try await withClient(of: backend, credentials: nil) { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == kind)
      #expect(failure.status == status)
      #expect(failure.calls == 1)
    }
    #expect(backend.requests.count == 1)
  }

  private static let analysis =
    #"{"id":"a","type":"throat","timestamp":TIME,"conditions":[],"debug_info":{}}"#

  @Test(
    "refuses the answer that belongs to another picture, and ends its connection",
    arguments: [
      (#""debug_info":{}"#, #""debug_info":{"image_data_length":1}"#, [], "The answer's debug_info."),
      ("TIME", "1546300800", [], "The answer's timestamp is more than 31 days before"),
      ("TIME", "\"2026-12-01T00:00:00Z\"", [], "The answer's timestamp is more than 31 days before"),
      ("TIME", "null", ["Age: 86400"], "The answer comes from a cache"),
    ] as [(String, String, [String], String)])
  func contradiction(part: String, changed: String, headers: [String], message: String) async throws {
    let body = Self.analysis.replacing(part, with: changed).replacing("TIME", with: "null")
    let backend = try FakeBackend { _ in Reply(200, body, headers: headers) }
    try await withClient(of: backend, clock: ManualClock().wall, credentials: nil) { client in
      for _ in 1...2 {
        let failure = try #require(await client.failure())
        #expect(failure.failureClass == .invalidAnswer)
        #expect(failure.message.hasPrefix(message), "\(failure.message)")
        #expect(failure.maybeCounted)
      }
    }
    #expect(backend.connectionCount == 2)
  }

  @Test("takes what agrees with the picture: its length in bytes or in base64, a clock of the endpoint's own")
  func agreement() async throws {
    let answers = [
      Reply(
        200, Self.analysis.replacing("{}", with: #"{"image_data_length":3}"#).replacing("TIME", with: "null")),
      Reply(
        200, Self.analysis.replacing("{}", with: #"{"image_data_length":4}"#).replacing("TIME", with: "null")),
      Reply(
        200, Self.analysis.replacing("TIME", with: "1546300800"),
        headers: ["Date: Tue, 01 Jan 2019 00:00:00 GMT"]),
      Reply(200, Self.analysis.replacing("TIME", with: "null"), headers: ["Age: 0"]),
    ]
    for answer in answers {
      let backend = try FakeBackend { _ in answer }
      try await withClient(of: backend, clock: ManualClock().wall, credentials: nil) { client in
        #expect(await client.failure() == nil, "\(answer)")
      }
    }
  }

  @Test("refuses one id for two pictures; the same picture may get it again")
  func repeatedID() async throws {
    let backend = try FakeBackend { _ in Reply(200, Self.analysis.replacing("TIME", with: "null")) }
    try await withClient(of: backend, credentials: nil) { client in
      #expect(await client.failure(image: [1, 2, 3]) == nil)
      #expect(await client.failure(image: [1, 2, 3]) == nil)
      let failure = try #require(await client.failure(image: [1, 2, 4]))
      #expect(failure.message == "The answer's id is that of another image's answer.")
      #expect(failure.failureClass == .invalidAnswer)
    }
    // What the first client has met, another one has not.
    try await withClient(of: backend, credentials: nil) { client in
      #expect(await client.failure(image: [1, 2, 4]) == nil)
    }
  }

  @Test("tells the shape of an answer that is no analysis, and nothing of its words")
  func evidence() async throws {
    let backend = try FakeBackend { _ in Reply(200, "<html>Welcome a@b.org</html>") }
    try await withClient(of: backend, credentials: nil) { client in
      let failure = try #require(await client.failure())
      #expect(failure.evidence?.hasPrefix("It had status 200, ") == true)
      #expect(failure.evidence?.contains("Welcome") == false)
      #expect(failure.maybeCounted)
    }
  }

  @Test("that nobody listens to was certainly not sent; one that is cut has an unknown outcome")
  func transport() async throws {
    let server = try RawServer { connection in _ = try connection.readRequest() }
    let url = server.url
    try await withClient(at: url) { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == .outcomeUnknown)
      #expect(failure.maybeCounted)
      #expect(failure.calls == 1)
    }
    server.stop()
    try await withClient(at: "http://127.0.0.1:1") { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == .notSent)
      #expect(!failure.maybeCounted)
      #expect(!failure.consumesAttempt)
      #expect(failure.calls == 0)
    }
  }

  @Test("over plain HTTP to another machine is refused by our own policy and consumes nothing")
  func policy() async throws {
    try await withClient(at: "http://192.0.2.1") { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == .notSent)
      #expect(!failure.consumesAttempt)
    }
  }

  @Test("ends at its deadline, and when its task is cancelled says so")
  func ending() async throws {
    let gate = Gate()
    let arrived = AsyncStream<String?>.makeStream()
    let backend = try FakeBackend { request in
      arrived.continuation.yield(request.headers["idempotency-key"])
      gate.wait()
      return Reply(500)
    }
    try await withClient(of: backend, credentials: nil) { client in
      // On a busy machine it may take more time to be sent at all.
      var deadline = Duration.seconds(2)
      var late = await client.analyze(image: [1], kind: .ear, idempotencyKey: "late", deadline: deadline)
      while backend.requests.isEmpty, deadline < .seconds(30) {
        deadline *= 4
        late = await client.analyze(image: [1], kind: .ear, idempotencyKey: "late", deadline: deadline)
      }
      guard case .failure(let failure) = late else {
        Issue.record("it was answered")
        return
      }
      #expect(failure.failureClass == .outcomeUnknown)
      #expect(failure.consumesAttempt)
      let task = Task { await client.failure() }
      for await key in arrived.stream where key != "late" { break }
      task.cancel()
      let cancelled = try #require(await task.value)
      #expect(cancelled.wasCancelled)
      #expect(!cancelled.consumesAttempt)
      #expect(cancelled.maybeCounted)
    }
    for _ in backend.requests { gate.open() }
  }
}
