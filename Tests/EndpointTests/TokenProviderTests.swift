import Synchronization
import TestSupport
import Testing

@testable import Endpoint
@testable import Support

@Suite("The token provider")
struct TokenProviderTests {
  /// Counts logins and refreshes and knows which tokens hold.
  private final class Issuer: Sendable {
    struct State {
      var logins = 0
      var refreshes = 0
      /// Tokens below this number are refused.
      var firstValid = 1
      var issued = 0
    }

    let state = Mutex(State())

    func login() -> Int {
      state.withLock { state in
        state.logins += 1
        state.issued += 1
        return state.issued
      }
    }

    func refresh() -> Int {
      state.withLock { state in
        state.refreshes += 1
        state.issued += 1
        return state.issued
      }
    }

    func accepts(_ authorization: String?) -> Bool {
      guard let text = authorization, let dash = text.lastIndex(of: "-"),
        let number = Int(text[text.index(after: dash)...])
      else { return false }
      return state.withLock { number >= $0.firstValid }
    }

    var logins: Int { state.withLock { $0.logins } }
    var refreshes: Int { state.withLock { $0.refreshes } }
  }

  private static let refused = Reply(401, #"{"error":true,"message":"Token expired"}"#)

  /// Answers all of `count` first callers only when all have come.
  private final class Barrier: Sendable {
    private let arrived = Mutex(0)
    private let gate = Gate()
    private let count: Int

    init(_ count: Int) { self.count = count }

    func wait() {
      let number = arrived.withLock { arrived in
        arrived += 1
        return arrived
      }
      if number == count { for _ in 1..<count { gate.open() } } else if number < count { gate.wait() }
    }
  }

  @Test("logs in once for a hundred calls that meet 401 at the same time, and each repeats once")
  func hundred() async throws {
    let issuer = Issuer()
    let barrier = Barrier(100)
    let backend = try FakeBackend { request in
      guard request.target == "/api/analyze" else {
        return Reply(200, Samples.login("token-\(issuer.login())"))
      }
      guard issuer.accepts(request.authorization) else {
        barrier.wait()
        return Self.refused
      }
      return Reply(200, Samples.answer)
    }
    try await withClient(of: backend) { client in
      let keeper = try #require(client.tokens)
      _ = try await keeper.token()
      issuer.state.withLock { $0.firstValid = 2 }
      await withTaskGroup(of: CallOutcome.self) { group in
        for number in 0..<100 {
          group.addTask {
            await client.analyze(image: [1, 2, 3], kind: .throat, idempotencyKey: "\(number)")
          }
        }
        for await outcome in group {
          guard case .success(let answer) = outcome else {
            Issue.record("\(outcome)")
            continue
          }
          #expect(answer.calls == 2)
        }
      }
      #expect(await keeper.generation == 2)
    }
    #expect(issuer.logins == 2)
    #expect(backend.requests(to: "/api/analyze").count == 200)
  }

  @Test("logs in once for a hundred first calls")
  func firstCalls() async throws {
    let issuer = Issuer()
    let backend = try FakeBackend { request in
      request.target == "/api/analyze"
        ? Reply(200, Samples.answer) : Reply(200, Samples.login("token-\(issuer.login())"))
    }
    try await withClient(of: backend) { client in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<100 {
          group.addTask { _ = await client.analyze(image: [1], kind: .throat, idempotencyKey: "\(number)") }
        }
      }
    }
    #expect(issuer.logins == 1)
    #expect(backend.requests(to: "/api/analyze").allSatisfy { $0.authorization == "Bearer token-1" })
    let login = try #require(backend.requests(to: "/api/login").first)
    #expect(login.text == #"{"email":"service@example.org","password":"correct horse"}"#)
    #expect(login.authorization == nil)
  }

  @Test("asks for the next token when a minute of an hour is left, by the refresh token where there is one")
  func ahead() async throws {
    let clock = ManualClock()
    let issuer = Issuer()
    @Sendable func session(_ number: Int) -> String {
      let claims = #"{"n":\#(number),"iat":\#(Int(clock.now)),"exp":\#(Int(clock.now) + 3600)}"#
      return #"{"error":false,"accessToken":"\#(Samples.jwt(claims))","refreshToken":"refresh-\#(number)"}"#
    }
    let backend = try FakeBackend { request in
      request.target == "/api/refresh-token"
        ? Reply(200, session(issuer.refresh())) : Reply(200, session(issuer.login()))
    }
    try await withClient(of: backend, clock: clock.wall) { client in
      let keeper = try #require(client.tokens)
      let first = try await keeper.token()
      clock.advance(.seconds(3539))
      #expect(try await keeper.token().generation == first.generation)
      clock.advance(.seconds(1))
      #expect(try await keeper.token().generation == first.generation + 1)
      #expect(issuer.logins == 1)
      #expect(issuer.refreshes == 1)
      #expect(backend.requests(to: "/api/refresh-token").map(\.text) == [#"{"refreshToken":"refresh-1"}"#])
    }
  }

  @Test("of a short-lived token asks when a tenth of its life is left")
  func short() async throws {
    let clock = ManualClock()
    let issuer = Issuer()
    let backend = try FakeBackend { _ in Reply(200, #"{"token":"t-\#(issuer.login())","expiresIn":100}"#) }
    try await withClient(of: backend, clock: clock.wall) { client in
      let keeper = try #require(client.tokens)
      _ = try await keeper.token()
      clock.advance(.milliseconds(89_999))
      #expect(try await keeper.token().generation == 1)
      clock.advance(.milliseconds(1))
      #expect(try await keeper.token().generation == 2)
    }
  }

  @Test("of a token without an end never asks by itself")
  func endless() async throws {
    let clock = ManualClock()
    let issuer = Issuer()
    let backend = try FakeBackend { _ in Reply(200, #"{"token":"t-\#(issuer.login())"}"#) }
    try await withClient(of: backend, clock: clock.wall) { client in
      let keeper = try #require(client.tokens)
      _ = try await keeper.token()
      clock.advance(.seconds(1_000_000))
      _ = try await keeper.token()
      #expect(issuer.logins == 1)
    }
  }

  @Test("logs in when the refresh token is refused")
  func refreshRefused() async throws {
    let clock = ManualClock()
    let issuer = Issuer()
    let backend = try FakeBackend { request in
      guard request.target == "/api/login" else { return Self.refused }
      return Reply(200, #"{"token":"t-\#(issuer.login())","refreshToken":"r","expiresIn":100}"#)
    }
    try await withClient(of: backend, clock: clock.wall) { client in
      let keeper = try #require(client.tokens)
      _ = try await keeper.token()
      clock.advance(.seconds(95))
      #expect(try await keeper.token().generation == 2)
      #expect(issuer.logins == 2)
      #expect(backend.requests(to: "/api/refresh-token").count == 1)
    }
  }

  @Test("pauses after a failed login instead of trying for each caller, and reads the credentials anew")
  func pause() async throws {
    let clock = ManualClock()
    let password = Mutex("old")
    let backend = try FakeBackend { request in
      request.text.contains(#""password":"new""#)
        ? Reply(200, Samples.login("token-1"))
        : Reply(401, #"{"error":true,"message":"Wrong password","code":"INVALID_CREDENTIALS"}"#)
    }
    let credentials: @Sendable () throws -> Credentials = {
      Credentials(email: "a@b.org", password: Secret(password.withLock { $0 }))
    }
    try await withClient(of: backend, clock: clock.wall, credentials: credentials) { client in
      for _ in 0..<20 {
        guard case .failure(let failure) = await client.analyze(image: [1], kind: .ear, idempotencyKey: "k")
        else {
          Issue.record("it was accepted")
          return
        }
        #expect(failure.failureClass == .credentials)
        #expect(failure.message == "Wrong password")
        #expect(!failure.consumesAttempt)
        #expect(!failure.maybeCounted)
        #expect(failure.calls == 0)
      }
      #expect(backend.requests.count == 1)
      password.withLock { $0 = "new" }
      clock.advance(.milliseconds(999))
      #expect(await client.failure()?.failureClass == .credentials)
      #expect(backend.requests.count == 1)
      clock.advance(.milliseconds(1))
      let borrowed = try await client.tokens?.token()
      #expect(borrowed?.generation == 1)
    }
  }

  @Test("that cannot read its credentials says so, without their content")
  func unreadable() async throws {
    struct Missing: Error, CustomStringConvertible {
      let description = "/etc/analysis/credentials holds a secret but has mode 0644"
    }
    let backend = try FakeBackend { _ in Reply(500) }
    try await withClient(of: backend, credentials: { throw Missing() }) { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == .credentials)
      #expect(failure.message.contains("mode 0644"))
    }
    #expect(backend.requests.isEmpty)
  }

  @Test(
    "tells a job of a login that failed as of a call that was not made",
    arguments: [
      (500, FailureClass.server), (503, .overload), (400, .credentials), (403, .credentials),
      (302, .credentials),
      (200, .credentials),
    ])
  func failedLogin(status: Int, kind: FailureClass) async throws {
    let backend = try FakeBackend { _ in Reply(status, "{}") }
    try await withClient(of: backend) { client in
      let failure = try #require(await client.failure())
      #expect(failure.failureClass == kind)
      #expect(failure.calls == 0)
      #expect(!failure.isFinal)
      #expect(!failure.consumesAttempt)
      #expect(!failure.maybeCounted)
    }
  }

  @Test("that meets 401 with a new token too reports the credentials, and does not log in again at once")
  func uselessToken() async throws {
    let clock = ManualClock()
    let issuer = Issuer()
    let backend = try FakeBackend { request in
      request.target == "/api/login" ? Reply(200, Samples.login("token-\(issuer.login())")) : Self.refused
    }
    try await withClient(of: backend, clock: clock.wall) { client in
      let first = try #require(await client.failure())
      #expect(first.failureClass == .credentials)
      #expect(first.calls == 2)
      #expect(!first.consumesAttempt)
      for _ in 0..<10 { #expect(await client.failure()?.failureClass == .credentials) }
      #expect(issuer.logins == 2)
      clock.advance(.seconds(1))
      _ = await client.failure()
      #expect(issuer.logins == 3)
    }
  }

  @Test("lets a cancelled caller go at once, and finishes the login for the others")
  func cancelledWaiter() async throws {
    let gate = Gate()
    let arrived = AsyncStream<Void>.makeStream()
    let backend = try FakeBackend { _ in
      arrived.continuation.yield()
      gate.wait()
      return Reply(200, Samples.login("token-1"))
    }
    try await withClient(of: backend) { client in
      let keeper = try #require(client.tokens)
      let impatient = Task { await client.failure() }
      for await _ in arrived.stream { break }
      let patient = Task { try await keeper.token().generation }
      impatient.cancel()
      let failure = try #require(await impatient.value)
      #expect(failure.wasCancelled)
      #expect(failure.calls == 0)
      gate.open()
      #expect(try await patient.value == 1)
    }
    #expect(backend.requests.count == 1)
  }
}
