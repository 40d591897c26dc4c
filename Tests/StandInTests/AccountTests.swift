import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import StandIn

@Suite("Accounts, tokens and limits", .onOwnThread)
struct AccountTests {
  private let credentials = ["email": "ada@example.org", "password": "secret"]

  @Test("A new account is logged in, and its address is taken")
  func register() throws {
    let endpoint = try TestEndpoint()
    let new = ["email": "Grace@example.org", "password": "p", "name": "Grace"]
    let answer = try endpoint.call("POST", "/api/register", json: new)
    #expect(answer.status == 201)
    let token = try #require(answer.json["accessToken"] as? String)
    let user = try #require(answer.json["user"] as? [String: Any])
    #expect(user["subscription"] as? String == "free")
    #expect(try endpoint.call("GET", "/api/user-profile", token: token).status == 200)
    #expect(try endpoint.call("POST", "/api/register", json: new).status == 409)
    #expect(
      try endpoint.call("POST", "/api/login", json: ["email": "grace@EXAMPLE.org", "password": "p"]).status
        == 200)
  }

  @Test("Log-in names its token and describes its account as the dialect does")
  func dialects() throws {
    let guide = try TestEndpoint { $0.dialect = .guide }.call("POST", "/api/login", json: credentials).json
    #expect(Set(guide.keys) == ["token", "user"])
    let described = try #require(guide["user"] as? [String: Any])
    #expect(described["analysisCount"] as? Int == 0 && described["lastResetDate"] is String)
    let server = try TestEndpoint().call("POST", "/api/login", json: credentials).json
    #expect(Set(server.keys) == ["message", "user", "accessToken", "refreshToken", "tokenExpiration"])
    #expect(server["tokenExpiration"] as? String == "1h")
    let user = try #require(server["user"] as? [String: Any])
    #expect(Set(user.keys) == ["id", "email", "name", "subscription"])
  }

  @Test("A wrong password or address is refused with a code")
  func wrongPassword() throws {
    let endpoint = try TestEndpoint()
    for wrong in [
      ["email": "ada@example.org", "password": "x"], ["email": "b@example.org", "password": "secret"],
    ] {
      let answer = try endpoint.call("POST", "/api/login", json: wrong)
      #expect(answer.status == 401)
      #expect(answer.json["code"] as? String == "INVALID_CREDENTIALS")
    }
    #expect(endpoint.server.statistics.logins == 0)
  }

  @Test("A token is a JSON Web Token that says when it expires, and holds until then")
  func expiry() throws {
    let clock = ManualClock(1_742_646_896)
    let endpoint = try TestEndpoint(clock: clock.clock) { $0.tokenLifetime = .seconds(60) }
    let token = try endpoint.token()
    let parts = token.split(separator: ".")
    #expect(parts.count == 3)
    let payload = try #require(Base64URL.decode(parts[1]))
    let claims = try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
    #expect(claims["exp"] as? Int == 1_742_646_956)
    clock.advance(59)
    #expect(try endpoint.upload(TestPicture.jpeg(), token: token).status == 200)
    clock.advance(1)
    let expired = try endpoint.upload(TestPicture.jpeg(), token: token)
    #expect(expired.status == 401)
    #expect(expired.json["error"] as? Bool == true)
    #expect(expired.json["code"] == nil)
  }

  @Test("A token that was changed, or made by another endpoint, is refused")
  func forged() throws {
    let endpoint = try TestEndpoint()
    let token = try endpoint.token()
    let parts = token.split(separator: ".").map(String.init)
    let forged = Base64URL.encode(Array(#"{"sub":"user-1","iat":0,"exp":99999999999,"jti":"x"}"#.utf8))
    let wrong = [
      "\(parts[0]).\(forged).\(parts[2])", "\(parts[0]).\(parts[1])", "\(token)x", "", "x",
      try TestEndpoint().token(),
    ]
    for token in wrong {
      #expect(try endpoint.call("GET", "/api/user-profile", token: token).status == 401)
      #expect(try endpoint.upload(TestPicture.jpeg(), token: token).status == 401)
    }
  }

  @Test("A refresh token is good once, until it expires")
  func refresh() throws {
    let clock = ManualClock(1_742_646_896)
    let endpoint = try TestEndpoint(clock: clock.clock) {
      $0.refreshLifetime = .seconds(100)
    }
    func refresh(_ token: String) throws -> RawClient.Response {
      try endpoint.call("POST", "/api/refresh-token", json: ["refreshToken": token])
    }
    let login = try endpoint.call("POST", "/api/login", json: credentials).json
    let first = try #require(login["refreshToken"] as? String)
    let answer = try refresh(first)
    #expect(answer.status == 200)
    #expect(answer.json["error"] as? Bool == false)
    let access = try #require(answer.json["accessToken"] as? String)
    #expect(try endpoint.call("GET", "/api/user-profile", token: access).status == 200)
    #expect(try refresh(first).status == 401)
    clock.advance(100)
    #expect(try refresh(try #require(answer.json["refreshToken"] as? String)).status == 401)
    #expect(endpoint.server.statistics.refreshes == 1)
  }

  @Test("Uploads need a token where that is required")
  func requiresToken() throws {
    let endpoint = try TestEndpoint { $0.requiresToken = true }
    #expect(try endpoint.upload(TestPicture.jpeg()).status == 401)
    #expect(try endpoint.upload(TestPicture.jpeg(), token: endpoint.token()).status == 200)
    #expect(try TestEndpoint().upload(TestPicture.jpeg()).status == 200)
  }

  @Test("A free account has its limit each month, a premium one has none")
  func limit() throws {
    // Half an hour before the end of March 2025, UTC.
    let clock = ManualClock(1_743_463_800)
    let endpoint = try TestEndpoint(clock: clock.clock) {
      $0.limitPerUser = 2
      $0.tokenLifetime = .seconds(86400)
    }
    let (token, picture) = (try endpoint.token(), try TestPicture.jpeg())
    func statuses(_ count: Int) throws -> [Int] {
      try (0..<count).map { _ in try endpoint.upload(picture, token: token).status }
    }
    #expect(try statuses(3) == [200, 200, 429])
    let refused = try endpoint.upload(picture, token: token)
    #expect(refused.json["code"] as? String == "ANALYSIS_LIMIT_EXCEEDED")
    clock.advance(1800)
    #expect(try statuses(3) == [200, 200, 429])
    let premium = ["subscription_level": "premium"]
    #expect(try endpoint.call("POST", "/api/update-subscription", token: token, json: premium).status == 200)
    #expect(try statuses(2) == [200, 200])
  }
}
