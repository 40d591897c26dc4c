import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import StandIn

/// One request that somebody without an account, or with another's, sends to `model-endpoint`.
struct RouteAttack: Sendable {
  /// What is tried, in words.
  let tries: String
  let method: String
  /// Names in braces stand for what the other account has.
  let path: String
  /// Whose token is sent.
  let token: Token
  let body: String
  /// Where the route is.
  let dialect: EndpointConfiguration.Dialect
  /// What has to be answered.
  let status: Int

  enum Token: Sendable { case none, madeUp, ofMallory }

  init(
    _ tries: String, _ method: String, _ path: String, as token: Token = .none, body: String = "{}",
    in dialect: EndpointConfiguration.Dialect = .server, is status: Int
  ) {
    self.tries = tries
    self.method = method
    self.path = path
    self.token = token
    self.body = body
    self.dialect = dialect
    self.status = status
  }

  static let all: [RouteAttack] = [
    RouteAttack("uploads without a token", "POST", "/api/analyze", is: 401),
    RouteAttack("uploads with a token that it made up", "POST", "/api/analyze", as: .madeUp, is: 401),
    RouteAttack("uploads what is no form", "POST", "/api/analyze", as: .ofMallory, is: 400),
    RouteAttack(
      "takes an address that another account has", "POST", "/api/register",
      body: #"{"email":"ada@example.org","password":"x","name":"Ada"}"#, is: 409),
    RouteAttack(
      "guesses a password", "POST", "/api/login", body: #"{"email":"ada@example.org","password":"guess"}"#,
      is: 401),
    RouteAttack(
      "logs in without end", "POST", "/api/login", body: String(repeating: "x", count: 1_100_000), is: 413),
    RouteAttack(
      "renews by a token that it made up", "POST", "/api/refresh-token", body: #"{"refreshToken":"guess"}"#,
      is: 401),
    RouteAttack("reads a profile without a token", "GET", "/api/user-profile", body: "", is: 401),
    RouteAttack(
      "reads a profile by a made-up token", "GET", "/api/user-profile", as: .madeUp, body: "", is: 401),
    RouteAttack(
      "takes another's address as its own", "PUT", "/api/update-profile", as: .ofMallory,
      body: #"{"email":"ada@example.org"}"#, is: 409),
    RouteAttack(
      "gives itself a plan that there is not", "POST", "/api/update-subscription", as: .ofMallory,
      body: #"{"plan":"gold","subscription":"gold"}"#, is: 400),
    RouteAttack("saves without a token", "POST", "/api/save-analysis", is: 401),
    RouteAttack("reads the history without a token", "GET", "/api/analysis-history", body: "", is: 401),
    RouteAttack("deletes without a token", "DELETE", "/api/analysis/{saved}", is: 401),
    RouteAttack("deletes another's analysis", "DELETE", "/api/analysis/{saved}", as: .ofMallory, is: 404),
    RouteAttack("asks for its health with a path that leaves it", "POST", "/api/../../etc/passwd", is: 404),
    RouteAttack("asks for statistics as a write", "DELETE", "/api/stats", is: 404),
    RouteAttack("asks for health as a write", "DELETE", "/api/health", is: 404),
    RouteAttack("saves without a token", "POST", "/api/analyses/save", in: .guide, is: 401),
    RouteAttack("lists without a token", "GET", "/api/analyses", body: "", in: .guide, is: 401),
    RouteAttack(
      "deletes another's analysis", "DELETE", "/api/analyses/{saved}", as: .ofMallory, in: .guide, is: 404),
  ]
}

@Suite("model-endpoint gives nobody what is another account's")
struct RouteAttackTests {
  private func ask(
    _ server: EndpointServer, _ method: String, _ path: String, token: String?, body: String
  ) async throws -> (status: Int, data: Data) {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)")))
    request.httpMethod = method
    if !body.isEmpty {
      request.httpBody = Data(body.utf8)
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (data, response) = try await URLSession.shared.data(for: request)
    return (try #require(response as? HTTPURLResponse).statusCode, data)
  }

  private func token(_ server: EndpointServer, _ name: String) async throws -> String {
    let answer = try await ask(
      server, "POST", "/api/login", token: nil,
      body: "{\"email\":\"\(name)@example.org\",\"password\":\"secret\"}")
    let fields = try JSONSerialization.jsonObject(with: answer.data) as? [String: Any]
    return try #require((fields?["accessToken"] ?? fields?["token"]) as? String)
  }

  @Test(
    "Each request is answered as the table says, and nothing of the other account is shown",
    arguments: EndpointConfiguration.Dialect.allCases)
  func routes(_ dialect: EndpointConfiguration.Dialect) async throws {
    let (save, list) =
      dialect == .guide
      ? ("/api/analyses/save", "/api/analyses") : ("/api/save-analysis", "/api/analysis-history")
    var configuration = EndpointConfiguration()
    configuration.dialect = dialect
    configuration.requiresToken = true
    configuration.accounts = ["ada", "mallory"].map {
      (account: String) in NewAccount(email: "\(account)@example.org", password: "secret", name: account)
    }
    let server = try EndpointServer(configuration, clock: .system)
    let (ada, mallory) = (try await token(server, "ada"), try await token(server, "mallory"))
    let saved = try await ask(
      server, "POST", save, token: ada,
      body: #"{"type":"throat","conditions":[{"id":"confided","name":"confided","confidence":0.9}]}"#)
    let id = try #require(String(decoding: saved.data, as: UTF8.self).firstMatch(of: /"id":"([^"]+)"/)).1
    for attack in RouteAttack.all where attack.dialect == dialect {
      let sent: String? =
        switch attack.token {
        case .none: nil
        case .madeUp: ada.dropLast(10) + "0123456789"
        case .ofMallory: mallory
        }
      let answer = try await ask(
        server, attack.method, attack.path.replacing("{saved}", with: id), token: sent, body: attack.body)
      #expect(answer.status == attack.status, "\(attack.tries)")
      #expect(!String(decoding: answer.data, as: UTF8.self).contains("confided"), "\(attack.tries)")
    }
    let kept = try await ask(server, "GET", list, token: ada, body: "")
    #expect(String(decoding: kept.data, as: UTF8.self).contains("confided"))
  }

  @Test("Every route is tried")
  func covered() {
    for dialect in EndpointConfiguration.Dialect.allCases {
      for path in Route.paths(dialect) {
        #expect(RouteAttack.all.contains { $0.path.hasPrefix(path) }, "no attack on \(path)")
      }
    }
  }
}
