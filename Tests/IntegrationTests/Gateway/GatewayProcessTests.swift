import EventLoop
import Foundation
import HTTPTestSupport
import HTTPTransfer
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Endpoint
@testable import Support

@Suite("An app that speaks to the analysis endpoint speaks to the queue", .onThreadEach)
struct GatewayProcessTests {
  private func picture(_ name: String = "throat-01.jpg") async throws -> [UInt8] {
    [UInt8](try Data(contentsOf: try await drawnPictures.folder().appending(path: name)))
  }

  @Test("The seed's own request, byte by byte, is answered in the seed's own type")
  func seed() async throws {
    try await RunningGateway.with { gateway in
      let token = try await gateway.user("u1")
      let image = try await picture()
      for type in ["throat", "ear"] {
        let answer = try gateway.upload(image, type: type, token)
        #expect(answer.status == 200, "\(answer.text)")
        let analysis = try answer.decoded(GuideAnswer.self)
        #expect(analysis.type == type && analysis.user == "u1" && analysis.error == nil)
        #expect(
          analysis.conditions?.isEmpty == false && analysis.debug_info?.image_data_length == image.count)
        #expect(analysis.timestamp?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        let job = try #require(analysis.id)
        let again = try gateway.ask("GET", "/api/analyses/\(job)", token)
        #expect(again.status == 200)
        #expect(try again.decoded(GuideAnswer.self).conditions?.count == analysis.conditions?.count)
      }
      // What it sent is cleaned: nothing of it but the picture is stored, and one picture of a user once.
      #expect(try await gateway.queue.count("image") == 1)
      #expect(try await gateway.queue.count("image WHERE unsanitized") == 0)
      let list = try gateway.ask("GET", "/api/analyses", token).json["analyses"] as? [[String: Any]]
      #expect(list?.count == 2 && list?.first?["type"] as? String == "ear")
      let profile = try gateway.ask("GET", "/api/user-profile", token).decoded(GuideUser.Answer.self).user
      #expect(profile.id == "u1" && profile.subscription == .premium && profile.analysisCount == 2)
      try await gateway.queue.expectSound()
    }
  }

  @Test(
    "The product's own client of the endpoint logs in, has photos analysed, and reads the history, in both dialects",
    arguments: Endpoint.Dialect.allCases)
  func ownClient(_ dialect: Endpoint.Dialect) async throws {
    try await RunningGateway.with { gateway in
      let token = try await gateway.user("u1")
      let loop = try EventLoop(name: "app")
      let http = HTTPClient(loop: loop)
      let client = ModelClient(
        endpoint: Endpoint(name: "gateway", baseURL: gateway.url, dialect: dialect), http: http,
        credentials: { Credentials(email: "u1", password: Secret(token)) })
      let outcome = await client.analyze(image: try await picture(), kind: .ear, idempotencyKey: "photo-1")
      guard case .success(let answer) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(answer.analysis.kind == .ear && !answer.analysis.conditions.isEmpty)
      // The same key is the same analysis.
      guard
        case .success(let repeated) = await client.analyze(
          image: try await picture(), kind: .ear, idempotencyKey: "photo-1")
      else {
        Issue.record("a repeat was refused")
        return
      }
      #expect(repeated.analysis.id == answer.analysis.id)
      #expect(try await client.history().analyses.map(\.id) == [answer.analysis.id])
      #expect(try await client.profile().id == "u1")
      _ = try await client.save(answer.analysis)
      _ = try await client.health()
      #expect(try await gateway.queue.units == 1)
      await http.close()
      loop.shutdown()
    }
  }

  @Test("What is refused is refused in the API's words, and nothing is half done")
  func refusals() async throws {
    try await RunningGateway.with(
      .init(gateway: ["--max-image", "200KB", "--rate", "1000"], worker: nil)
    ) { gateway in
      let token = try await gateway.user("u1")
      let image = try await picture()
      func form(_ parts: String) throws -> RawClient.Response {
        try gateway.client().request(
          "POST", "/api/analyze",
          headers: ["Authorization": "Bearer \(token)", "Content-Type": "multipart/form-data; boundary=b"],
          body: Array(parts.replacing("\n", with: "\r\n").utf8))
      }
      func expect(
        _ answer: RawClient.Response, _ status: Int, _ code: String?,
        _ location: SourceLocation = #_sourceLocation
      ) throws {
        let error = try answer.decoded(GuideError.self)
        #expect(
          answer.status == status && error.error && error.code == code, "\(answer.status) \(answer.text)",
          sourceLocation: location)
      }
      let type = "--b\nContent-Disposition: form-data; name=\"type\"\n\nthroat\n"
      let file = "--b\nContent-Disposition: form-data; name=\"image\"; filename=\"image.jpg\"\n\nx\n"
      try expect(form(type + "--b--\n"), 400, "MISSING_IMAGE")
      try expect(form(file + "--b--\n"), 400, "INVALID_MODEL_TYPE")
      try expect(form(file + type.replacing("throat", with: "nose") + "--b--\n"), 400, "INVALID_MODEL_TYPE")
      try expect(form(type + file + file + "--b--\n"), 400, "INVALID_FIELD_NAME")
      try expect(form(type + file), 400, "MISSING_REQUEST_BODY")
      try expect(form(type + file + "--b--\n"), 400, "INVALID_IMAGE_FORMAT")
      try expect(
        gateway.client().request(
          "POST", "/api/analyze",
          headers: ["Authorization": "Bearer \(token)", "Content-Type": "image/jpeg"],
          body: image), 400, "MISSING_REQUEST_BODY")
      try expect(gateway.upload(image, ""), 401, nil)
      try expect(gateway.upload(image, "aq1.0." + String(repeating: "x", count: 43)), 401, nil)
      try expect(gateway.upload([UInt8](repeating: 0, count: 200_001), token), 413, "LIMIT_FILE_SIZE")
      try expect(gateway.upload([UInt8](repeating: 0, count: 3_000_000), token), 413, "LIMIT_FILE_SIZE")
      try expect(
        gateway.upload(image, token, headers: ["Idempotency-Key": String(repeating: "k", count: 201)]), 400,
        "INVALID_IDEMPOTENCY_KEY")
      try expect(gateway.ask("GET", "/api/analyses/7", token), 404, "NOT_FOUND")
      try expect(gateway.ask("GET", "/api/analyses?limit=0", token), 400, nil)
      try expect(gateway.ask("DELETE", "/api/analyses/7", token), 403, "NOT_DONE_HERE")
      try expect(gateway.ask("GET", "/nothing", token), 404, "NOT_FOUND")
      try expect(gateway.ask("PATCH", "/api/analyses", token), 405, "METHOD_NOT_ALLOWED")
      for path in ["register", "update-subscription/"] {
        try expect(gateway.ask("POST", "/api/" + path, token), 403, "NOT_DONE_HERE")
      }
      for body in [
        #"{"name":""}"#, #"{"email":7}"#, #"{"name":"a\u0000"}"#,
        #"{"name":"\#(String(repeating: "n", count: 201))"}"#,
      ] {
        try expect(
          gateway.ask("PUT", "/api/update-profile", token, body: Array(body.utf8)), 400, "INVALID_PROFILE")
      }
      try expect(
        gateway.ask("PUT", "/api/update-profile", token, body: Array("[]".utf8)), 400, "MISSING_REQUEST_BODY")
      #expect(try await gateway.queue.count("job") == 0)
      #expect(try await gateway.queue.count("image") == 0)
      #expect(try await gateway.queue.units == 0)
      #expect(!gateway.process.messagesSoFar.contains(token))
    }
  }

  @Test("A user changes name and e-mail address, logs in with them, and out: then the token is over")
  func account() async throws {
    try await RunningGateway.with(.init(worker: nil)) { gateway in
      let token = try await gateway.user("u1")
      func user(_ answer: RawClient.Response) throws -> GuideUser {
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.decoded(GuideUser.Answer.self).user
      }
      func change(_ body: String) throws -> GuideUser {
        try user(gateway.ask("PUT", "/api/update-profile/", token, body: Array(body.utf8)))
      }
      func logIn(_ member: String, _ name: String) throws -> RawClient.Response {
        let body = #"{"\#(member)":"\#(name)","password":"\#(token)"}"#
        return try gateway.client().request("POST", "/api/login/", body: Array(body.utf8))
      }
      // Where there is neither, an app is shown the reference, and sends it back.
      #expect(try user(gateway.ask("GET", "/api/user-profile/", token)).email == "u1")
      #expect(try change(#"{"name":"Ada","email":"u1"}"#).name == "Ada")
      #expect(try await gateway.queue.count("profile WHERE name = 'Ada' AND email IS NULL") == 1)
      #expect(try change(#"{"name":"Ada","email":"ada@example.org"}"#).email == "ada@example.org")
      #expect(try change(#"{"name":null}"#).name == "Ada")
      #expect(try await gateway.queue.count("audit_entry WHERE action = 'set_profile'") == 2)
      #expect(try logIn("email", "Ada@example.org").status == 200)
      #expect(try logIn("username", "u1").status == 200)
      #expect(try logIn("username", "u2").status == 401)
      #expect(try gateway.ask("POST", "/api/logout", token).status == 200)
      for (method, path) in [("GET", "/api/user-profile"), ("POST", "/api/logout")] {
        #expect(try gateway.ask(method, path, token).status == 401)
      }
      #expect(try logIn("email", "u1").status == 401)
      #expect(try await gateway.queue.count("audit_entry WHERE action = 'revoke_token'") == 1)
    }
  }

  @Test("The month's limit, another's job, and a token that was revoked")
  func limits() async throws {
    try await RunningGateway.with { gateway in
      let (token, other) = (try await gateway.user("u1", plan: "free"), try await gateway.user("u2"))
      let image = try await picture()
      var jobs: [String] = []
      for (number, reached) in [(1, nil), (2, nil), (3, nil), (4, "80"), (5, "100")] {
        let answer = try gateway.upload(image, token, headers: ["Idempotency-Key": "\(number)"])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers["x-analysis-limit"] == "5")
        #expect(answer.headers["x-analysis-remaining"] == "\(5 - number)")
        #expect(answer.headers["x-analysis-limit-reached"] == reached)
        let listed = try gateway.ask("GET", "/api/analyses", token)
        #expect(listed.headers["x-analysis-remaining"] == "\(5 - number)")
        jobs.append(try #require(answer.json["id"] as? String))
      }
      let refused = try gateway.upload(image, token, headers: ["Idempotency-Key": "6"])
      let error = try refused.decoded(GuideError.self)
      #expect(refused.status == 429 && error.code == "ANALYSIS_LIMIT_EXCEEDED")
      #expect(error.message == "You've reached your analysis limit for this month.")
      #expect(refused.headers["x-analysis-limit-reached"] == "100")
      // A photo that is sent again is answered its analysis, with what is left as any other answer.
      let again = try gateway.upload(image, token, headers: ["Idempotency-Key": "1"])
      #expect(again.status == 200 && again.json["id"] as? String == jobs[0])
      #expect(again.headers["x-analysis-remaining"] == "0", "\(again.headers)")
      #expect(again.headers["x-analysis-limit-reached"] == "100")
      let profile = try gateway.ask("GET", "/api/user-profile", token)
      #expect(profile.headers["x-analysis-limit-reached"] == "100")
      #expect(try gateway.ask("GET", "/api/user-profile", other).headers["x-analysis-limit"] == nil)
      #expect(try await gateway.queue.units == 5)
      let stolen = try gateway.ask("GET", "/api/analyses/\(jobs[0])", other)
      #expect(stolen.status == 404 && !stolen.text.contains("confidence"))
      #expect(try gateway.ask("GET", "/api/analyses/\(jobs[0])/events", other).status == 404)
      try await gateway.queue.execute("UPDATE analysis.user_token SET revoked_at = clock_timestamp()")
      // Who a token's user is, is remembered for seconds; what it reads and submits is judged anew.
      #expect(try gateway.ask("GET", "/api/analyses", token).status == 401)
      #expect(try gateway.upload(image, other).status == 401)
    }
  }

  @Test("A user who sends too much is told when to come again, and another is not held up")
  func rate() async throws {
    try await RunningGateway.with(.init(gateway: ["--rate", "2"])) { gateway in
      let (token, other) = (try await gateway.user("u1"), try await gateway.user("u2"))
      let image = try await picture()
      for type in ["throat", "ear"] {
        #expect(try gateway.upload(image, type: type, token).status == 200)
      }
      let refused = try gateway.upload(image, token)
      #expect(refused.status == 429 && refused.json["code"] == nil)
      #expect(refused.headers["retry-after"].flatMap { Int($0) } ?? 0 > 0)
      #expect(try gateway.upload(image, other).status == 200)
      #expect(try await gateway.queue.units == 3)
    }
  }

  @Test("Who is not answered in time gets an address, is told how far it is, and hears the end")
  func pending() async throws {
    try await RunningGateway.with(.init(gateway: ["--deadline", "0s"], worker: nil)) { gateway in
      let token = try await gateway.user("u1")
      let answer = try gateway.upload(try await picture(), token, headers: ["Idempotency-Key": "one"])
      #expect(answer.status == 202 && answer.json["status"] as? String == "queued", "\(answer.text)")
      let location = try #require(answer.headers["location"])
      #expect(answer.headers["retry-after"] != nil && answer.json["location"] as? String == location)
      #expect((answer.json["message"] as? String)?.contains("do not send it again") == true)
      #expect(try gateway.ask("GET", location, token).status == 202)
      let listener = try gateway.client()
      try listener.send("GET", location + "/events", headers: ["Authorization": "Bearer \(token)"])
      try listener.expect("event: status")
      let worker = try await Executable(
        "analysis-worker", ["--drain", "--endpoint", gateway.endpoint.url, "--notify-ended"],
        environment: gateway.queue.environment
      ).ended()
      #expect(worker.code == 0, "\(worker.messages)")
      let heard = listener.untilClosed()
      #expect(heard.contains("event: analysis") && heard.contains("confidence"), "\(heard)")
      let finished = try gateway.ask("GET", location, token)
      #expect(finished.status == 200)
      _ = try finished.decoded(GuideAnswer.self)
      // A repeat with the same key is the same job, and no other unit.
      let repeated = try gateway.upload(try await picture(), token, headers: ["Idempotency-Key": "one"])
      #expect(repeated.json["id"] as? String == answer.json["id"] as? String)
      let other = try gateway.upload(
        try await picture("throat-03.jpg"), token, headers: ["Idempotency-Key": "one"])
      #expect(other.status == 422, "\(other.text)")
      #expect(try await gateway.queue.units == 1)
    }
  }

  @Test("A job that dies is answered as a failure in the patient's words, which no app takes for a finding")
  func dead() async throws {
    try await RunningGateway.with(.init(endpoint: ["--fail", "400=1"])) { gateway in
      let token = try await gateway.user("u1")
      let answer = try gateway.upload(try await picture(), token)
      let failure = try answer.decoded(GuideAnswer.self)
      #expect(answer.status == 200 && failure.error == true && failure.conditions == nil, "\(answer.text)")
      #expect(failure.message == "The photo could not be analysed. Please take it again.")
      #expect(
        throws: DecodingFailure.self, "the product's own client takes it for a failure",
        performing: { try AnalysisDecoder.decode(answer.body, expecting: .throat) })
      let job = try #require(answer.json["id"] as? String)
      #expect(try gateway.ask("GET", "/api/analyses/\(job)", token).text == answer.text)
      #expect(try await gateway.queue.units == 0)
    }
  }

  @Test("With a key file what is stored is encrypted, where plaintext is refused")
  func encrypted() async throws {
    let folder = try TemporaryFolder()
    let keys = ["--key-file", folder.path("image.keys")]
    #expect(try await Executable("analysisctl", ["keys", "new"] + keys).ended().code == 0)
    try await RunningGateway.with(.init(gateway: keys, worker: ["--require-encryption"] + keys)) { gateway in
      try await gateway.queue.execute(
        "UPDATE analysis.setting SET value = 'yes' WHERE name = 'require_encryption'")
      let token = try await gateway.user("u1")
      let answer = try gateway.upload(try await picture(), token)
      #expect(answer.status == 200, "\(answer.text)")
      _ = try answer.decoded(GuideAnswer.self)
      #expect(try await gateway.queue.count("image WHERE encrypted_by IS NULL") == 0)
      #expect(try await gateway.queue.count("image") == 1)
      let job = try #require(answer.json["id"] as? String)
      let photo = try gateway.ask("GET", "/api/analyses/\(job)/image", token)
      #expect(photo.status == 200 && photo.headers["content-type"] == "image/jpeg")
      #expect(photo.headers["cache-control"] == "no-store" && photo.body.starts(with: [0xFF, 0xD8, 0xFF]))
      #expect(
        try await gateway.queue.texts(
          "SELECT object FROM analysis.audit_entry WHERE action = 'read_image' AND detail ->> 'reading' IS NOT NULL"
        )
          == ["job:\(job)"])
      // A row of another user's, or one that was changed, is shown to nobody.
      try await gateway.queue.execute("UPDATE analysis.image SET user_sha256 = sha256('other')")
      let moved = try gateway.ask("GET", "/api/analyses/\(job)/image", token)
      #expect(moved.status == 409 && moved.json["code"] as? String == "IMAGE_UNREADABLE", "\(moved.text)")
    }
  }

  @Test("Stopped, it finishes what it has accepted, answers others 503, and ends with 0")
  func stops() async throws {
    try await RunningGateway.with(.init(endpoint: ["--delay", "700ms"])) { gateway in
      let token = try await gateway.user("u1")
      let waiting = try gateway.client()
      try waiting.send(
        raw: SeedUpload(image: try await picture(), type: "ear", token: token, port: gateway.port).bytes())
      try await eventually("the job") { try await gateway.queue.count("job") == 1 }
      let idle = try gateway.client()
      #expect(try idle.request("GET", "/api/health").status == 200)
      gateway.process.send(SIGTERM)
      try await eventually("the end to begin") { gateway.process.messagesSoFar.contains("Stopping") }
      let refused = try idle.request("GET", "/api/health")
      #expect(refused.status == 503 && refused.headers["retry-after"] != nil, "\(refused.text)")
      let answer = waiting.receive()
      #expect(answer.status == 200, "\(answer.text)")
      await gateway.stop()
    }
  }

  @Test("Stopped with no time left, it tells who waits where to ask; a restart finds the job")
  func restart() async throws {
    try await RunningGateway.with(.init(gateway: ["--grace", "0s"], worker: nil)) { gateway in
      let token = try await gateway.user("u1")
      let waiting = try gateway.client()
      try waiting.send(
        raw: SeedUpload(image: try await picture(), type: "ear", token: token, port: gateway.port).bytes())
      try await eventually("the job") { try await gateway.queue.count("job") == 1 }
      gateway.process.send(SIGTERM)
      let answer = waiting.receive()
      #expect(answer.status == 202, "\(answer.text)")
      await gateway.stop()
      let location = try #require(answer.headers["location"])
      let second = try await RunningGateway.start([], gateway.queue, gateway.endpoint, gateway.conninfo)
      #expect(try second.ask("GET", location, token).status == 202)
      await second.stop()
    }
  }

  @Test("A client that breaks off is not waited for; its job stays. One that has closed its side is answered")
  func gone() async throws {
    let metrics = try FreePort.find()
    try await RunningGateway.with(
      .init(gateway: ["--metrics", "127.0.0.1:\(metrics)"], worker: nil)
    ) { gateway in
      let token = try await gateway.user("u1")
      let waiting = try gateway.client()
      try waiting.send(
        raw: SeedUpload(image: try await picture(), type: "ear", token: token, port: gateway.port).bytes())
      func waits() throws -> String {
        try RawClient(port: UInt16(metrics)).request("GET", "/metrics").text
      }
      try await eventually("the wait") { try waits().contains("analysis_gateway_waiting_requests 1\n") }
      waiting.reset()
      try await eventually("its end") { try waits().contains("analysis_gateway_waiting_requests 0\n") }
      #expect(try await gateway.queue.count("job") == 1)
      #expect(try RawClient(port: UInt16(metrics)).request("GET", "/readyz").status == 200)
      // What the server refuses by itself is counted too.
      #expect(try gateway.ask("GET", "/nothing", token).status == 404)
      #expect(try waits().contains("analysis_gateway_answers_total{status=\"404\"} 1\n"))
    }
  }

  @Test("An app that closes its side behind the photo is answered its analysis, and pays one unit for it")
  func halfClosed() async throws {
    try await RunningGateway.with { gateway in
      let token = try await gateway.user("u1")
      let client = try gateway.client()
      try client.send(
        raw: SeedUpload(image: try await picture(), type: "ear", token: token, port: gateway.port).bytes())
      client.closeSide()
      let answer = client.receive()
      #expect(answer.status == 200, "\(answer.text)")
      _ = try answer.decoded(GuideAnswer.self)
      #expect(try await gateway.queue.units == 1)
    }
  }

  @Test("It speaks TLS by a certificate of its own")
  func tls() async throws {
    guard Authority.isAvailable else { return }
    let authority = try await Authority()
    let certificate = try await authority.certificate(names: "IP:127.0.0.1")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: authority.key)
    try await RunningGateway.with(
      .init(gateway: ["--tls-certificate", certificate, "--tls-key", authority.key])
    ) { gateway in
      let token = try await gateway.user("u1")
      let image = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let answer = try await HelperProgram.output(
        "/usr/bin/curl",
        [
          "-s", "--cacert", authority.file, "-H", "Authorization: Bearer \(token)", "-F", "type=throat", "-F",
          "image=@\(image);filename=image.jpg", "https://127.0.0.1:\(gateway.port)/api/analyze",
        ])
      _ = try JSONDecoder().decode(GuideAnswer.self, from: Data(answer))
      let plain = try gateway.client()
      try plain.send(raw: Array("GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
      #expect(plain.receive().status != 200)
    }
  }

  @Test(
    "It listens to other machines by TLS alone, and says what else is wrong with its options",
    arguments: [
      (["--listen", "0.0.0.0:0"], 64), (["--behind-tls", "--tls-certificate", "a", "--tls-key", "b"], 64),
      (["--tls-certificate", "a"], 64), (["--tls-certificate", "/nowhere", "--tls-key", "/nowhere"], 66),
      (["--key-file", "/nowhere"], 66), (["--database", "host=/nowhere"], 69), (["--nonsense"], 64),
    ])
  func options(_ words: [String], code: Int) async throws {
    let ended = try await Executable("analysis-gateway", ["--listen", "127.0.0.1:0"] + words).ended()
    #expect(Int(ended.code) == code, "\(ended.messages)")
  }

  @Test("A login without the role is told which it lacks")
  func role() async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, named: "stranger") { (login) async throws in
        let ended = try await Executable(
          "analysis-gateway", ["--listen", "127.0.0.1:0"],
          environment: ["ANALYSIS_DATABASE": "\(queue.database.conninfo) user=\(login)"]
        ).ended()
        #expect(ended.code == 77, "\(ended.messages)")
      }
    }
  }

  @Test("A carer reads what is shared with them, as long as it is")
  func shared() async throws {
    try await RunningGateway.with { gateway in
      let (owner, carer) = (try await gateway.user("u1"), try await gateway.user("u2"))
      let job = try #require(try gateway.upload(try await picture(), owner).json["id"] as? String)
      func photo(_ token: String) throws -> Int {
        try gateway.ask("GET", "/api/analyses/\(job)/image", token).status
      }
      let other = try await gateway.user("u3")
      #expect(try photo(owner) == 200 && photo(carer) == 404 && photo(other) == 404)
      let made = try gateway.ask("POST", "/api/shares", owner, body: Array(#"{"carer":"u2"}"#.utf8))
      #expect(made.status == 201, "\(made.text)")
      let share = try #require(made.json["id"] as? String)
      #expect(try gateway.ask("GET", "/api/shared/\(share)/analyses", carer).status == 404)
      #expect(try gateway.ask("POST", "/api/shares/\(share)/accept", owner).status == 404)
      #expect(try gateway.ask("POST", "/api/shares/\(share)/accept", carer).status == 200)
      let read = try gateway.ask("GET", "/api/shared/\(share)/analyses", carer)
      #expect((read.json["analyses"] as? [Any])?.count == 1, "\(read.text)")
      #expect(try photo(carer) == 200 && photo(other) == 404)
      let seen =
        "SELECT count(*)::int FROM analysis.audit_entry WHERE action = 'read_image' AND detail ->> 'share' = '\(share)'"
      #expect(try await gateway.queue.number(seen) == 1)
      #expect((try gateway.ask("GET", "/api/shared", carer).json["shared"] as? [Any])?.count == 1)
      #expect((try gateway.ask("GET", "/api/shares", owner).json["shares"] as? [Any])?.count == 1)
      #expect(try gateway.ask("DELETE", "/api/shares/\(share)", owner).status == 200)
      #expect(try gateway.ask("GET", "/api/shared/\(share)/analyses", carer).status == 404)
      #expect(try photo(carer) == 404)
      #expect(try gateway.ask("POST", "/api/shares/\(share)/accept", carer).status == 404)
      // What came in by SQL is cleaned before it is shown: nobody has looked where it was taken.
      let raw = try await picture()
      #expect(raw.firstRange(of: Array("Exif".utf8)) != nil)
      let submitted = try await gateway.queue.pool.query(
        "SELECT job_id FROM analysis.submit_images('{u3}', '{throat}', ARRAY[$1::bytea])", [.bytes(raw)]
      ).single().int64(0)
      let clean = try gateway.ask("GET", "/api/analyses/\(submitted)/image", other)
      #expect(clean.status == 200 && clean.body.firstRange(of: Array("Exif".utf8)) == nil)
      // Who is not there is answered as everybody else.
      let nobody = try gateway.ask("POST", "/api/shares", owner, body: Array(#"{"carer":"nobody"}"#.utf8))
      #expect(nobody.status == 201, "\(nobody.text)")
      let wrong = try gateway.ask("POST", "/api/shares", owner, body: Array(#"{"carer":"u1"}"#.utf8))
      #expect(wrong.status == 400 && wrong.json["code"] as? String == "INVALID_SHARE", "\(wrong.text)")
      for body in ["{}", #"{"carer":""}"#, #"{"carer":"u2","clinician":null}"#, #"{"carer":7}"#] {
        #expect(
          try gateway.ask("POST", "/api/shares", owner, body: Array(body.utf8)).status == 400, "\(body)")
      }
      // When it ends is said as on the command line.
      let brief = try gateway.ask(
        "POST", "/api/shares", owner, body: Array(#"{"carer":"u2","expires":"30d"}"#.utf8))
      #expect(brief.status == 201, "\(brief.text)")
      for expires in ["30", "tomorrow", "2020-01-01"] {
        let body = Array(#"{"carer":"u2","expires":"\#(expires)"}"#.utf8)
        #expect(try gateway.ask("POST", "/api/shares", owner, body: body).status == 400, "\(expires)")
      }
    }
  }
}
