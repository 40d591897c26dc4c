import TestSupport
import Testing

@testable import Endpoint
@testable import Support

@Suite("The calls about accounts and saved analyses")
struct AccountTests {
  private static let userAnswer = #"{"user":\#(Samples.user)}"#

  /// Answers a login by itself and everything else as told.
  private func backend(_ answer: @escaping @Sendable (RawConnection.Received) -> Reply) throws -> FakeBackend
  {
    try FakeBackend { request in
      request.target == "/api/login" ? Reply(200, Samples.login("token-1")) : answer(request)
    }
  }

  @Test("register and login bring a token and the account")
  func sessions() async throws {
    let backend = try FakeBackend { request in
      request.target == "/api/register"
        ? Reply(201, Samples.login("new"))
        : Reply(200, #"{"accessToken":"t","refreshToken":"r","user":\#(Samples.user)}"#)
    }
    try await withClient(of: backend, credentials: nil) { client in
      let registered = try await client.accounts.register(
        email: "a@b.org", password: Secret("p\"w"), name: "Ü")
      #expect(registered.session?.token.reveal() == "new")
      #expect(registered.session?.refreshToken == nil)
      #expect(registered.user?.subscription == .premium)
      let session = try await client.accounts.login(email: "a@b.org", password: Secret("pw"))
      #expect(session.token.reveal() == "t")
      #expect(session.refreshToken?.reveal() == "r")
      #expect(session.user?.id == "u-7")
      #expect(!"\(session)".contains("\"t\""))
    }
    #expect(
      backend.requests.map(\.text) == [
        #"{"email":"a@b.org","password":"p\"w","name":"Ü"}"#, #"{"email":"a@b.org","password":"pw"}"#,
      ])
  }

  @Test("refresh brings the next pair of tokens")
  func refresh() async throws {
    let backend = try FakeBackend { _ in
      Reply(200, #"{"error":false,"accessToken":"t2","refreshToken":"r2"}"#)
    }
    try await withClient(of: backend, credentials: nil) { client in
      let session = try await client.accounts.refresh(Secret("r1"))
      #expect(session.token.reveal() == "t2")
      #expect(session.refreshToken?.reveal() == "r2")
      #expect(session.user == nil)
    }
    #expect(backend.requests(to: "/api/refresh-token").map(\.text) == [#"{"refreshToken":"r1"}"#])
  }

  @Test(
    "that bring no token that fits into a header are failures",
    arguments: [
      #"{}"#, #"{"token":""}"#, #"{"token":"a\r\nX: 1"}"#, #"{"token":5}"#, #"{"token":"ü"}"#, "[]", "",
    ])
  func badTokens(body: String) async throws {
    let backend = try FakeBackend { _ in Reply(200, body) }
    try await withClient(of: backend, credentials: nil) { client in
      let failure = try #require(
        await failure { try await client.accounts.login(email: "a@b.org", password: Secret("x")) })
      #expect(failure.failureClass == .invalidAnswer)
    }
  }

  @Test("profile and its change bring the account")
  func profile() async throws {
    let backend = try backend { _ in Reply(200, Self.userAnswer) }
    try await withClient(of: backend) { client in
      let user = try await client.profile()
      #expect(user.email == "service@example.org")
      #expect(user.analysisCount == 3)
      #expect(user.lastResetDate == 1_740_787_200)
      #expect(!"\(user)".contains("example.org"))
      _ = try await client.updateProfile(name: "New")
      _ = try await client.updateProfile(email: "c@d.org")
    }
    let requests = backend.requests.dropFirst()
    #expect(
      requests.map { "\($0.method) \($0.target) \($0.text)" } == [
        "GET /api/user-profile ", #"PUT /api/update-profile {"name":"New"}"#,
        #"PUT /api/update-profile {"email":"c@d.org"}"#,
      ])
    #expect(requests.allSatisfy { $0.authorization == "Bearer token-1" })
  }

  @Test(
    "are failures when the account is not what the API says",
    arguments: [
      (#""premium""#, #""gold""#, "user.subscription"), (#""premium""#, #""Premium""#, "user.subscription"),
      (#""premium""#, "null", "user.subscription"),
      (#""id":"u-7","#, "", "user.id"),
    ])
  func badAccounts(old: String, new: String, place: String) async throws {
    let body = Self.userAnswer.replacing(old, with: new)
    let backend = try backend { _ in Reply(200, body) }
    try await withClient(of: backend) { client in
      let failure = try #require(await failure { try await client.profile() })
      #expect(failure.failureClass == .invalidAnswer)
      #expect(failure.message.contains(place))
    }
  }

  @Test(
    "read the last reset in each of its forms, or none",
    arguments: [
      (#""2025-03-01T00:00:00.000Z""#, 1_740_787_200), (#""2025-03-01T00:00:00Z""#, 1_740_787_200),
      ("1740787200", 1_740_787_200), ("null", nil), (#""March""#, nil),
    ] as [(String, Double?)])
  func lastReset(form: String, time: Double?) async throws {
    let body = Self.userAnswer.replacing(#""2025-03-01T00:00:00.000Z""#, with: form)
    let backend = try backend { _ in Reply(200, body) }
    try await withClient(of: backend) { client in
      let user = try await client.profile()
      #expect(user.lastResetDate == time)
    }
  }

  @Test("have a count only where the backend tells one", arguments: ["-1", "1.5", #""3""#, "null"])
  func oddCount(count: String) async throws {
    let body = Self.userAnswer.replacing(#""analysisCount":3"#, with: #""analysisCount":\#(count)"#)
    let backend = try backend { _ in Reply(200, body) }
    let user = try await withClient(of: backend) { client in try await client.profile() }
    #expect(user.analysisCount == nil)
  }

  @Test(
    "do not fail after a change, whatever is in its answer",
    arguments: [
      "", "{}", "[]", #"{"message":"done"}"#, #"{"user":null}"#,
      #"{"user":{"id":"u-7","email":"a@b.org","subscription":"gold"}}"#,
      #"{"analysis":[],"subscription":{"subscription":1}}"#, #"{"token":5,"user":"u-7"}"#,
    ])
  func changed(body: String) async throws {
    let backend = try backend { _ in Reply(200, body) }
    try await withClient(of: backend) { client in
      #expect(try await client.updateProfile(name: "New") == nil)
      #expect(try await client.updateSubscription(.free) == nil)
      let registered = try await client.accounts.register(email: "a@b.org", password: Secret("x"), name: "A")
      #expect(registered.session == nil && registered.user == nil)
      let receipt = try await client.save(Analysis(id: "a", kind: .ear, conditions: []))
      #expect(receipt.id == nil && receipt.subscription == nil)
    }
  }

  @Test("speak both variants of the API", arguments: Endpoint.Dialect.allCases)
  func dialects(dialect: Endpoint.Dialect) async throws {
    // Where the server has null, the guide's client reads plain numbers alone.
    let none = dialect == .guide ? "2147483647" : "null"
    let backend = try backend { request in
      request.target.contains("save")
        ? Reply(
          201,
          #"{"message":"Saved","analysis":{"id":91},"subscription":{"subscription":"premium","analysisCount":4,"#
            + #""analysisLimit":\#(none),"analysisRemaining":\#(none),"lastResetDate":"2025-03-01T00:00:00Z"}}"#
        )
        : Reply(200, Self.userAnswer)
    }
    try await withClient(of: backend, dialect: dialect) { client in
      _ = try await client.updateSubscription(.premium, paymentToken: Secret("pay"))
      _ = try await client.updateSubscription(.free)
      let analysis = Analysis(
        id: "a", kind: .ear,
        conditions: [
          Condition(id: "otitis", name: "Otitis", confidence: try #require(Confidence(0.25)), symptoms: [])
        ])
      let receipt = try await client.save(analysis)
      #expect(receipt.id == "91")
      #expect(receipt.subscription?.analysisCount == 4)
      #expect(receipt.subscription?.analysisLimit == nil && receipt.subscription?.analysisRemaining == nil)
    }
    let saved =
      #"{"id":"a","type":"ear","conditions":[{"id":"otitis","name":"Otitis","confidence":0.25,"symptoms":[]}]}"#
    let expected =
      dialect == .guide
      ? [
        #"/api/update-subscription {"subscription":"premium","paymentToken":"pay"}"#,
        #"/api/update-subscription {"subscription":"free"}"#, "/api/analyses/save \(saved)",
      ]
      : [
        #"/api/update-subscription {"subscription_level":"premium","payment_token":"pay"}"#,
        #"/api/update-subscription {"subscription_level":"free"}"#, "/api/save-analysis \(saved)",
      ]
    #expect(backend.requests.dropFirst().map { "\($0.target) \($0.text)" } == expected)
  }

  @Test(
    "list the saved analyses and delete one, whatever its id",
    arguments: [
      (Endpoint.Dialect.guide, "/api/analyses", "/api/analyses"),
      (.server, "/api/analysis-history", "/api/analysis"),
    ])
  func saved(dialect: Endpoint.Dialect, list: String, one: String) async throws {
    let backend = try backend { request in
      request.method == "DELETE"
        ? Reply(200, #"{"message":"Deleted"}"#)
        : Reply(
          200,
          #"{"\#(dialect == .guide ? "analyses" : "history")":[{"id":1,"type":"ear","conditions":[],"created_at":"2025-03-22T12:34:56.000Z"},"#
            + #"{"id":"b","type":"throat","conditions":[{"id":"normal","name":"N","confidence":1}]}]}"#)
    }
    try await withClient(of: backend, dialect: dialect) { client in
      let analyses = try await client.history().analyses
      #expect(analyses.map(\.id) == ["1", "b"])
      #expect(analyses.map(\.createdAt) == [1_742_646_896, nil])
      #expect(analyses.last?.conditions.first?.isNormal == true)
      try await client.delete(analysis: "a/../b?x=1 ü")
      let refused = try #require(await failure { try await client.delete(analysis: "..") })
      #expect(refused.isFinal)
    }
    #expect(backend.requests.dropFirst().map(\.target) == [list, "\(one)/a%2F..%2Fb%3Fx%3D1%20%C3%BC"])
  }

  @Test("log in once more when the token has ended")
  func expired() async throws {
    let backend = try FakeBackend { request in
      switch request.target {
      case "/api/login": Reply(200, #"{"token":"token-\#(request.headers["x-number"] ?? "1")"}"#)
      default: Reply(401)
      }
    }
    try await withClient(of: backend) { client in
      let failure = try #require(await failure { try await client.profile() })
      #expect(failure.failureClass == .credentials)
    }
    #expect(backend.requests(to: "/api/login").count == 2)
    #expect(backend.requests(to: "/api/user-profile").count == 2)
  }

  @Test(
    "tell a page and a report of failure from a backend that is up",
    arguments: [
      (Reply(200, "<!DOCTYPE html><html></html>"), false), (Reply(200, "\n <html>"), false),
      (Reply(200, "Welcome", headers: ["Content-Type: text/html; charset=utf-8"]), false),
      (Reply(200, #"{"error":true,"message":"no database"}"#), false), (Reply(200, "{"), false),
      (Reply(200, #"{"status":"ok"}"#), true), (Reply(200, ""), true), (Reply(204, ""), true),
    ])
  func healthBody(reply: Reply, isUp: Bool) async throws {
    let backend = try FakeBackend { _ in reply }
    try await withClient(of: backend, credentials: nil) { client in
      let failure = await failure { try await client.health() }
      #expect((failure == nil) == isUp)
      if let failure { #expect(failure.failureClass == .invalidAnswer) }
    }
  }

  @Test("tell whether the backend is up")
  func health() async throws {
    let well = try FakeBackend { _ in Reply(200, "OK") }
    let answer = try await withClient(of: well, credentials: nil) { client in try await client.health() }
    #expect(answer.clockAhead == nil && answer.certificateEnds == nil)
    let ill = try FakeBackend { _ in Reply(503, "", headers: ["Retry-After: 7"]) }
    try await withClient(of: ill, credentials: nil) { client in
      let failure = try #require(await failure { try await client.health() })
      #expect(failure.failureClass == .overload)
      #expect(failure.retryAfter == .seconds(7))
    }
  }

  @Test(
    "tell how the backend's clock goes, by the date of its answer",
    arguments: [("Sun, 06 Nov 1994 08:49:37 GMT", true), ("soon", false)])
  func healthDate(date: String, isRead: Bool) async throws {
    let backend = try FakeBackend { _ in Reply(200, "OK", headers: ["Date: \(date)"]) }
    let answer = try await withClient(of: backend, credentials: nil) { client in try await client.health() }
    #expect(answer.clockAhead.map { $0 > 86_400 } == (isRead ? true : nil))
  }

  @Test("work below a base address with a path and a slash at its end")
  func baseAddress() async throws {
    let backend = try FakeBackend { _ in Reply(200) }
    try await withClient(at: backend.url + "/prefix/") { client in _ = try await client.health() }
    #expect(backend.requests.map(\.target) == ["/prefix/api/health"])
  }

  private func failure<R>(_ body: () async throws -> R) async -> CallFailure? {
    do {
      _ = try await body()
      return nil
    } catch {
      return error as? CallFailure
    }
  }
}
