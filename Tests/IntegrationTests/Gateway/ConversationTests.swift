import Foundation
import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@Suite("The client of the API's guide reads what it is answered", .onThreadEach)
struct ConversationTests {
  /// With whom the client speaks.
  enum Partner: String, CaseIterable {
    case gateway
    case guide
    /// The real server's dialect, of which the guide's client cannot read everything.
    case server
  }

  /// What was asked, and what the client's types made of it, line by line.
  private final class Transcript {
    private let partner: Partner
    private(set) var lines: [String] = []

    init(_ partner: Partner) { self.partner = partner }

    @discardableResult
    func note<Value>(
      _ asked: String, _ made: GuideClient.Made<Value>, _ text: (Value) -> String
    ) -> GuideClient.Made<Value> {
      let line = "\(asked): \(made.line(text))"
      print("[\(partner.rawValue)] \(line)")
      lines.append(line)
      return made
    }
  }

  /// The first analyses of a plan, and one more than it allows.
  private func analyse(
    _ client: inout GuideClient, _ pictures: [[UInt8]], _ plan: String, _ transcript: Transcript
  ) throws -> [GuideAnalysis] {
    var found: [GuideAnalysis] = []
    for (number, picture) in pictures.enumerated() {
      let made = try client.analyse(picture, type: number.isMultiple(of: 2) ? "throat" : "ear")
      transcript.note("POST /api/analyze as \(plan), photo \(number + 1)", made, \.line)
      if let analysis = made.value { found.append(analysis) }
    }
    return found
  }

  /// Pictures that differ.
  private func pictures(_ count: Int) async throws -> [[UInt8]] {
    let folder = try await drawnPictures.folder()
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasPrefix("throat-") || $0.hasPrefix("ear-")
    }.sorted()
    return try files.prefix(count).map { [UInt8](try Data(contentsOf: folder.appending(path: $0))) }
  }

  @Test(
    "Free and premium, the limit, refusals, the history, saving, the profile and logging out: the gateway")
  func gateway() async throws {
    let transcript = Transcript(.gateway)
    try await RunningGateway.with(.init(gateway: ["--max-image", "200KB", "--rate", "1000"])) { gateway in
      let photos = try await pictures(6)
      var free = GuideClient(port: gateway.port)
      let token = try await gateway.user("u1", plan: "free")
      let session = transcript.note("POST /api/login", try free.logIn("u1", password: token), \.user.line)
      #expect(session.value?.user.subscription == .free && session.value?.user.lastReset != nil)
      let found = try analyse(&free, photos, "free", transcript)
      #expect(found.count == 5 && found.allSatisfy { $0.date != nil && !$0.conditions.isEmpty })
      #expect(transcript.lines.last?.contains("ANALYSIS_LIMIT_EXCEEDED") == true)

      var premium = GuideClient(port: gateway.port, token: try await gateway.user("u2"))
      let analysis = try #require(try analyse(&premium, [photos[0]], "premium", transcript).first)
      // The app lost the answer and sends the photo again.
      let again = transcript.note("POST /api/analyze, once more", try premium.analyse(photos[0]), \.line)
      #expect(again.value?.id == analysis.id)
      let bad = transcript.note("POST /api/analyze, no picture", try premium.analyse([1, 2, 3]), \.line)
      #expect(bad.message != nil)
      let large = transcript.note(
        "POST /api/analyze, 3 MB", try premium.analyse([UInt8](repeating: 0, count: 3_000_000)), \.line)
      #expect(large.message?.contains("too large") == true)
      let saved = transcript.note("POST /api/analyses/save", try premium.save(analysis), \.line)
      #expect(saved.value?.subscription.analysisLimit == 2_147_483_647)
      let profile = transcript.note(
        "PUT /api/update-profile",
        try premium.changeProfile(name: "Ada", email: "ada@example.org"), \.line)
      #expect(profile.value?.name == "Ada" && profile.value?.subscription == .premium)
      #expect(try premium.profile().value?.email == "ada@example.org")
      #expect(
        transcript.note("POST /api/register", try premium.register("a", password: "b"), \.token).message
          != nil)
      #expect(
        transcript.note("POST /api/update-subscription", try premium.subscribe(.free), \.line).message != nil)

      for number in 1...24 {
        let key = ["Idempotency-Key": "\(number)"]
        #expect(try gateway.upload(photos[0], premium.token ?? "", headers: key).status == 200)
      }
      for (path, count) in [("/api/analyses", 25), ("/api/analysis-history", 20)] {
        let history = transcript.note("GET \(path)", try premium.history(path)) { list in
          "\(list.count) analyses, the first \(list.first?.line ?? "is not there")"
        }
        #expect(history.value?.count == count)
        #expect(history.value?.allSatisfy { $0.date != nil } == true)
      }
      #expect(transcript.note("POST /api/logout", try premium.logOut(), \.message).value != nil)
      let out = transcript.note("GET /api/user-profile after it", try premium.profile(), \.line)
      #expect(out.message != nil)
      try await gateway.queue.execute("UPDATE analysis.user_token SET expires_at = now()")
      let expired = transcript.note("GET /api/analyses with an expired token", try free.history()) {
        "\($0.count) analyses"
      }
      #expect(expired.message != nil)
      try await judge(free.exchanges + premium.exchanges)
    }
    #expect(transcript.lines.filter { $0.contains("cannot") || $0.contains("status") } == [])
  }

  @Test("A model that fails, and one that is slow: the gateway")
  func failures() async throws {
    let transcript = Transcript(.gateway)
    try await RunningGateway.with(.init(endpoint: ["--fail", "400=1"])) { gateway in
      var client = GuideClient(port: gateway.port, token: try await gateway.user("u1"))
      let failed = transcript.note(
        "POST /api/analyze, the model fails", try client.analyse(try await pictures(1)[0]), \.line)
      #expect(failed.message == "The photo could not be analysed. Please take it again.")
      let jobs = try #require(try client.history("/api/analyses?jobs=true").value)
      #expect(jobs.isEmpty && client.exchanges.last?.body.contains(#""status":"failed""#) == true)
      try await judge(client.exchanges)
    }
    try await RunningGateway.with(.init(worker: nil)) { gateway in
      // As where somebody has required encryption and forgotten the gateway's key file.
      try await gateway.queue.execute(
        "UPDATE analysis.setting SET value = 'yes' WHERE name = 'require_encryption'")
      var client = GuideClient(port: gateway.port, token: try await gateway.user("u1"))
      let failed = transcript.note(
        "POST /api/analyze, the server fails", try client.analyse(try await pictures(1)[0]), \.line)
      guard case .refused("The server failed.", "SERVER_ERROR") = failed else {
        Issue.record("\(failed.line(\.line))")
        return
      }
      #expect(try await gateway.queue.count("job") == 0)
      try await judge(client.exchanges)
    }
    try await RunningGateway.with(.init(gateway: ["--deadline", "0s"], worker: nil)) { gateway in
      var client = GuideClient(port: gateway.port, token: try await gateway.user("u1"))
      let photo = try await pictures(1)[0]
      let slow = transcript.note("POST /api/analyze, the model is slow", try client.analyse(photo), \.line)
      #expect(slow.message?.contains("do not send it again") == true)
      _ = try client.analyse(photo)
      #expect(try await gateway.queue.count("job") == 1, "sent again it is no second unit")
      // An app of today finds its job; one of the guide skips it.
      #expect(try client.history("/api/analyses?jobs=true").value?.isEmpty == true)
      #expect(client.exchanges.last?.body.contains(#""status":"queued""#) == true)
      #expect(
        try client.history().value?.isEmpty == true && client.exchanges.last?.body == "{\"analyses\":[]}\n")
      try await judge(client.exchanges)
    }
  }

  @Test("The same conversation with the stand-in, in both dialects", arguments: [Partner.guide, .server])
  func standIn(_ partner: Partner) async throws {
    let transcript = Transcript(partner)
    let isGuide = partner == .guide
    func with(_ options: [String], _ body: (inout GuideClient) async throws -> Void) async throws {
      try await RunningEndpoint.with(["--dialect", partner.rawValue] + options) { endpoint in
        var client = GuideClient(
          port: try #require(endpoint.url.split(separator: ":").last.flatMap { UInt16($0) }))
        try await body(&client)
      }
    }
    let photos = try await pictures(6)
    try await with(["--limit-per-user", "5", "--delay", "50ms"]) { client in
      let session = transcript.note(
        "POST /api/register", try client.register("a@b.org", password: "x"), \.user.line)
      #expect((session.value != nil) == isGuide, "the server has no token there")
      if client.token == nil { client.token = try accessToken(client) }
      let found = try analyse(&client, photos, "free", transcript)
      #expect(found.count == 5 && found.allSatisfy { ($0.date != nil) == isGuide && !$0.conditions.isEmpty })
      #expect(transcript.lines.last?.contains("ANALYSIS_LIMIT_EXCEEDED") == true)
      let profile = transcript.note("GET /api/user-profile", try client.profile(), \.line)
      #expect((profile.value != nil) == isGuide)
      let changed = transcript.note(
        "PUT /api/update-profile", try client.changeProfile(name: "Ada", email: "a@b.org"), \.line)
      #expect((changed.value?.name == "Ada") == isGuide)
      let premium = transcript.note("POST /api/update-subscription", try client.subscribe(.premium), \.line)
      #expect((premium.value?.subscription == .premium) == isGuide)
      for number in 1...25 {
        let saved = try client.save(found[0])
        if number == 1 { transcript.note("POST /api/analyses/save as premium", saved, \.line) }
        #expect((saved.value?.subscription.analysisLimit == 2_147_483_647) == isGuide)
      }
      let history = transcript.note("GET /api/analyses", try client.history()) {
        "\($0.count) analyses, the first \($0.first?.line ?? "is not there")"
      }
      #expect(history.value?.count == (isGuide ? 25 : nil))
      #expect((history.value?.allSatisfy { $0.date != nil } == true) == isGuide)
      #expect(
        transcript.note("POST /api/analyze, no picture", try client.analyse([1, 2, 3]), \.line).message != nil
      )
      let large = [UInt8](repeating: 0, count: 5_242_880)
      #expect(transcript.note("POST /api/analyze, 5 MiB", try client.analyse(large), \.line).message != nil)
      transcript.note("POST /api/logout", try client.logOut(), \.message)
    }
    try await with(["--token-lifetime", "1ms"]) { client in
      _ = try client.register("a@b.org", password: "x")
      client.token = client.token ?? "x.y.z"
      try await eventually("the end of the token") { try client.profile().message != nil }
      transcript.note("GET /api/user-profile with an expired token", try client.profile(), \.line)
    }
    for (fault, message) in [("400=1", "The request is not valid."), ("500=1", "Internal server error.")] {
      try await with(["--fail", fault]) { client in
        _ = try client.register("a@b.org", password: "x")
        if client.token == nil { client.token = try accessToken(client) }
        let failed = transcript.note(
          "POST /api/analyze, the model fails with \(fault)", try client.analyse(photos[0]), \.line)
        #expect(failed.message == message)
      }
    }
  }

  /// What the real server calls the token that it answers a registration with, which the guide's client does not read.
  private func accessToken(_ client: GuideClient) throws -> String {
    let body = try JSONSerialization.jsonObject(with: Data(client.exchanges[0].body.utf8))
    return try #require((body as? [String: Any])?["accessToken"] as? String)
  }

  /// Has what the gateway answered judged by its own description.
  private func judge(
    _ exchanges: [GuideClient.Exchange], _ location: SourceLocation = #_sourceLocation
  ) async throws {
    guard let python = Description.python else { return }
    let faults = try await HelperProgram.output(
      python, ["-c", Description.judge, Description.path], input: [UInt8](JSONEncoder().encode(exchanges)))
    #expect(String(decoding: faults, as: UTF8.self) == "", sourceLocation: location)
  }
}

/// `docs/openapi.yaml`, by which what the gateway answers is judged.
private enum Description {
  static let python = ProcessInfo.processInfo.environment["ANALYSIS_PYTHON"]
  static let path = packagePath("docs/openapi.yaml")

  static let judge = """
    import json, re, sys, yaml, jsonschema
    document = yaml.safe_load(open(sys.argv[1]))
    for exchange in json.load(sys.stdin):
      path = exchange['path'].split('?')[0]
      said = f"{exchange['method']} {path} {exchange['status']}"
      found = [p for p in document['paths'] if re.fullmatch(re.sub(r'{[^}]*}', '[^/]+', p), path)]
      if not found:
        print(f'{said}: no such path')
        continue
      best = min(found, key=lambda p: p.count('{'))
      answers = document['paths'][best][exchange['method'].lower()]['responses']
      answer = answers.get(str(exchange['status']), answers.get('default'))
      if answer is None:
        print(f'{said}: no such status')
        continue
      while '$ref' in answer:
        name = answer['$ref'].split('/')[-1]
        answer = document['components']['responses'][name]
      schema = dict(document, **answer['content']['application/json']['schema'])
      for fault in jsonschema.Draft202012Validator(schema).iter_errors(json.loads(exchange['body'])):
        print(f"{said}: {fault.message}")
    """
}
