import TestSupport
import Testing

@testable import Endpoint
@testable import StandIn
@testable import Support

/// Each line of the backend's real behaviour, as `model-endpoint --dialect server` imitates it.
@Suite("The client against the real server's API")
struct RealServerTests {
  /// A picture that the endpoint takes where it does not decode.
  private static let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3]

  /// Runs a body with a client of an endpoint with one account, that of the client.
  private func with(
    clock: ManualClock? = nil, _ faults: [FaultClass] = [],
    _ change: (inout EndpointConfiguration) -> Void = { _ in },
    _ body: (ModelClient, EndpointServer) async throws -> Void
  ) async throws {
    var configuration = EndpointConfiguration()
    configuration.accounts = [
      NewAccount(email: "service@example.org", password: "correct horse", name: "Service")
    ]
    configuration.requiresToken = true
    configuration.decodesPictures = false
    configuration.faults = try FaultPlan(seed: 1, rules: faults.map { FaultRule($0, share: 1) })
    change(&configuration)
    let server = try EndpointServer(
      configuration, clock: clock.map { clock in EndpointClock { clock.now } } ?? .system)
    defer { server.stop() }
    try await withClient(at: server.baseURL, clock: clock?.wall ?? .system, credentials: { .test }) {
      try await body($0, server)
    }
  }

  private func analyze(_ client: ModelClient, key: String = "1") async -> CallOutcome {
    await client.analyze(image: Self.picture, kind: .throat, idempotencyKey: key)
  }

  @Test("an account has no count, at the log-in, in its profile and after each change")
  func account() async throws {
    try await with { client, _ in
      let session = try await client.accounts.login(
        email: "service@example.org", password: Secret("correct horse"))
      #expect(session.refreshToken != nil)
      let user = try #require(session.user)
      #expect(user.analysisCount == nil && user.subscription == .free && user.name == "Service")
      #expect(try await client.profile() == user)
      #expect(try await client.updateProfile(name: "Other")?.name == "Other")
      #expect(try await client.updateSubscription(.premium)?.subscription == .premium)
      #expect(try await client.profile().subscription == .premium)
      let registered = try await client.accounts.register(
        email: "new@example.org", password: Secret("p"), name: "New")
      #expect(registered.session?.token != nil && registered.user?.name == "New")
      #expect(registered.user?.analysisCount == nil)
    }
  }

  @Test("analyses are saved, listed by the history and deleted")
  func saved() async throws {
    try await with { client, _ in
      guard case .success(let answer) = await analyze(client) else {
        Issue.record("no analysis")
        return
      }
      for _ in 0..<21 { _ = try await client.save(answer.analysis) }
      let receipt = try await client.save(answer.analysis)
      #expect(receipt.subscription?.analysisCount == 1)
      #expect(receipt.subscription?.lastResetDate != nil)
      let history = try await client.history().analyses
      #expect(history.count == 20)
      #expect(history.first?.id == receipt.id)
      #expect(history.first?.conditions == answer.analysis.conditions)
      try await client.delete(analysis: try #require(receipt.id))
      #expect(try await client.history().analyses.first?.id != receipt.id)
    }
  }

  @Test("a good answer has treatment and recommendation, both kept")
  func advice() async throws {
    try await with { client, _ in
      guard case .success(let answer) = await analyze(client) else {
        Issue.record("no analysis")
        return
      }
      #expect(answer.analysis.conditions.allSatisfy { $0.treatment != nil && $0.recommendation != nil })
    }
  }

  @Test("a processing time of -1 costs no diagnosis, when it is told and by itself")
  func negativeTime() async throws {
    try await with([.negativeTime]) { client, _ in
      guard case .success(let answer) = await analyze(client) else {
        Issue.record("no analysis")
        return
      }
      #expect(answer.analysis.processingMilliseconds == nil && answer.analysis.model != nil)
      #expect(!answer.analysis.conditions.isEmpty)
    }
    try await with { client, server in
      var withoutTime = 0
      for key in 0..<1000 {
        guard case .success(let answer) = await analyze(client, key: "job-\(key)") else {
          Issue.record("no analysis")
          return
        }
        withoutTime += answer.analysis.processingMilliseconds == nil ? 1 : 0
      }
      #expect(server.statistics.outcomes == ["analysis": 1000])
      // 8 of 1000 are expected, and the keys are always the same.
      #expect((1...25).contains(withoutTime), "\(withoutTime)")
    }
  }

  @Test(
    "a made-up answer is a failure, like the condition analysis_error",
    arguments: [FaultClass.fallback, .analysisError])
  func madeUp(fault: FaultClass) async throws {
    try await with([fault]) { client, _ in
      let failure = try #require(await client.failure(image: Self.picture))
      #expect(failure.failureClass == .invalidAnswer)
      #expect(failure.code == "analysis_error")
      #expect(failure.maybeCounted && failure.consumesAttempt)
      #expect(failure.message == "The endpoint's model failed.")
    }
  }

  @Test("flags that did not come are unknown, not false")
  func missingFlags() async throws {
    try await with([.sparse]) { client, _ in
      guard case .success(let answer) = await analyze(client) else {
        Issue.record("no analysis")
        return
      }
      #expect(
        answer.analysis.conditions.allSatisfy {
          $0.isPotentiallySerious == nil && $0.recommendsConsultation == nil && $0.symptoms == nil
        })
    }
  }

  @Test("a page with status 200 is no analysis and no backend")
  func pages() async throws {
    try await with([.html]) { client, server in
      #expect(await client.failure(image: Self.picture)?.failureClass == .invalidAnswer)
      try await client.health()
      try await withClient(at: server.baseURL + "/wrong") { client in
        let failure = await #expect(throws: CallFailure.self) { try await client.health() }
        #expect(failure?.failureClass == .invalidAnswer && failure?.status == 200)
      }
    }
  }

  @Test("the guide's history is a page there")
  func guideHistory() async throws {
    try await with { _, server in
      try await withClient(at: server.baseURL, dialect: .guide, credentials: { .test }) { client in
        let failure = await #expect(throws: CallFailure.self) { try await client.history() }
        #expect(failure?.failureClass == .invalidAnswer)
        let gone = await #expect(throws: CallFailure.self) { try await client.delete(analysis: "saved-1") }
        #expect(gone?.status == 404)
      }
    }
  }

  @Test("an image from 5,242,880 bytes on is too large")
  func tooLarge() async throws {
    try await with { client, _ in
      var picture = [UInt8](repeating: 0, count: 5_242_880)
      picture.replaceSubrange(..<Self.picture.count, with: Self.picture)
      let failure = try #require(await client.failure(image: picture))
      #expect(failure.isFinal && failure.status == 413 && failure.code == "LIMIT_FILE_SIZE")
      #expect(await client.failure(image: Array(picture.dropLast())) == nil)
    }
  }

  @Test(
    "tokens are renewed by the refresh token as they end, once for all calls that wait, after one log-in",
    arguments: [Duration.seconds(55), .seconds(61)])
  func refresh(pause: Duration) async throws {
    let clock = ManualClock()
    try await with(clock: clock, [], { $0.tokenLifetime = .seconds(60) }) { client, server in
      let keeper = try #require(client.tokens)
      for round in 0..<4 {
        if round > 0 { clock.advance(pause) }
        await withTaskGroup(of: CallOutcome.self) { group in
          for number in 0..<20 {
            group.addTask {
              await client.analyze(image: Self.picture, kind: .throat, idempotencyKey: "\(round)-\(number)")
            }
          }
          for await outcome in group {
            guard case .success = outcome else {
              Issue.record("\(outcome)")
              continue
            }
          }
        }
      }
      let seen = server.statistics
      #expect(seen.logins == 1)
      #expect(seen.refreshes == 3)
      // Each token that a renewal brought was used.
      #expect(await keeper.generation == 4)
    }
  }
}
