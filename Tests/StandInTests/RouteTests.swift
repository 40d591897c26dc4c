import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import StandIn

@Suite("Routes beside the uploads", .onOwnThread)
struct RouteTests {
  @Test("Health needs no token")
  func health() throws {
    #expect(try TestEndpoint().call("GET", "/api/health").status == 200)
  }

  @Test(
    "Routes of an account need a token",
    arguments: [
      (.guide, "POST", "/api/analyses/save"), (.server, "POST", "/api/save-analysis"),
      (.guide, "GET", "/api/analyses"), (.server, "GET", "/api/analysis-history"),
      (.guide, "DELETE", "/api/analyses/saved-1"), (.server, "DELETE", "/api/analysis/saved-1"),
      (.guide, "GET", "/api/user-profile"), (.server, "PUT", "/api/update-profile"),
      (.server, "POST", "/api/update-subscription"),
    ] as [(EndpointConfiguration.Dialect, String, String)])
  func needToken(_ dialect: EndpointConfiguration.Dialect, _ method: String, _ path: String) throws {
    #expect(try TestEndpoint { $0.dialect = dialect }.call(method, path, json: [:]).status == 401)
  }

  @Test(
    "The real server answers a GET that it does not know with a page and 200, all else with a page and 404",
    arguments: [
      ("GET", "/api/analyses", 200), ("GET", "/wrong/api/health", 200), ("GET", "/api/analyze", 200),
      ("GET", "/api/analysis/saved-1", 200), ("DELETE", "/api/analyses/saved-1", 404),
      ("POST", "/api/analyses/save", 404), ("POST", "/api/health", 404),
    ])
  func pages(_ method: String, _ path: String, _ status: Int) throws {
    let answer = try TestEndpoint().call(method, path)
    #expect(answer.status == status)
    #expect(answer.headers["content-type"] == "text/html")
    #expect(answer.text.hasPrefix("<!DOCTYPE html>"))
  }

  @Test(
    "The real server takes a body that is no JSON for a failure of its own", arguments: ["{", "x", "{}}"])
  func badJSON(_ body: String) throws {
    let endpoint = try TestEndpoint()
    let answer = try endpoint.client().request("POST", "/api/login", body: Array(body.utf8))
    #expect(answer.status == 500)
    #expect(answer.json["message"] as? String == "Internal server error")
    let guide = try TestEndpoint { $0.dialect = .guide }
    #expect(try guide.client().request("POST", "/api/login", body: Array(body.utf8)).status == 400)
  }

  @Test("Unknown paths and methods are refused in the guide's dialect")
  func unknown() throws {
    let endpoint = try TestEndpoint { $0.dialect = .guide }
    #expect(try endpoint.call("GET", "/api/nothing").status == 404)
    #expect(try endpoint.call("DELETE", "/api/analyses/").status == 405)
    let wrong = try endpoint.call("GET", "/api/analyze")
    #expect(wrong.status == 405)
    #expect(wrong.headers["allow"] == "POST")
  }

  @Test(
    "A body that is missing or wrong is refused with a code",
    arguments: ["/api/login", "/api/register", "/api/refresh-token"])
  func missingBody(_ path: String) throws {
    let endpoint = try TestEndpoint()
    for body in [nil, [:], ["email": 1]] as [[String: Any]?] {
      let answer = try endpoint.call("POST", path, json: body)
      #expect(answer.status == 400)
      #expect(answer.json["code"] as? String == "MISSING_REQUEST_BODY")
    }
  }

  @Test("A body of more than a MiB is refused")
  func largeBody() throws {
    let long = String(repeating: "x", count: 1 << 20)
    #expect(
      try TestEndpoint().call("POST", "/api/login", json: ["email": long, "password": ""]).status == 413)
  }

  @Test(
    "Saving stores under the server's id, in both dialects",
    arguments: [
      (.guide, "/api/analyses/save", "/api/analyses/", 201, "lastResetDate"),
      (.server, "/api/save-analysis", "/api/analysis/", 200, "last_reset_date"),
    ] as [(EndpointConfiguration.Dialect, String, String, Int, String)])
  func save(
    _ dialect: EndpointConfiguration.Dialect, _ path: String, _ one: String, _ code: Int, _ date: String
  ) throws {
    let endpoint = try TestEndpoint {
      $0.limitPerUser = 5
      $0.dialect = dialect
    }
    let token = try endpoint.token()
    _ = try endpoint.upload(TestPicture.jpeg(), token: token)
    let conditions: [[String: Any]] = [
      ["id": "normal", "confidence": 0.5, "symptoms": [], "isError": NSNull()]
    ]
    let body: [String: Any] = ["id": "mine", "type": "ear", "conditions": conditions]
    let first = try endpoint.call("POST", path, token: token, json: body)
    let second = try endpoint.call("POST", path, token: token, json: body)
    #expect(first.status == code)
    #expect(first.json["message"] as? String == "Analysis saved successfully")
    let saved = try #require(first.json["analysis"] as? [String: Any])
    #expect(saved["type"] as? String == "ear")
    #expect(saved["conditions"] as? NSArray == conditions as NSArray)
    #expect(saved["created_at"] is String)
    let id = try #require(saved["id"] as? String)
    #expect(id != "mine" && id != (second.json["analysis"] as? [String: Any])?["id"] as? String)
    let status = try #require(first.json["subscription"] as? [String: Any])
    #expect(status["analysisCount"] as? Int == 1)
    #expect(status["analysisLimit"] as? Int == 5)
    #expect(status["analysisRemaining"] as? Int == 4)
    #expect(status[date] is String)
    #expect(status.count == 5)
    #expect(try list(endpoint, token).count == 2)
    let deleted = try endpoint.call("DELETE", "\(one)\(id)", token: token)
    #expect(deleted.status == 200 && deleted.json["message"] as? String == "Analysis deleted")
    #expect(try endpoint.call("DELETE", "\(one)\(id)", token: token).status == 404)
    #expect(try list(endpoint, token).count == 1)
  }

  @Test(
    "A premium account's limit is null, and a large number for the guide's client, which reads no null",
    arguments: [
      (.server, "subscription_level", "save-analysis", nil),
      (.guide, "subscription", "analyses/save/", 2_147_483_647),
    ] as [(EndpointConfiguration.Dialect, String, String, Int?)])
  func premiumLimit(
    _ dialect: EndpointConfiguration.Dialect, _ field: String, _ path: String, _ limit: Int?
  ) throws {
    let endpoint = try TestEndpoint {
      $0.dialect = dialect
      $0.limitPerUser = 5
    }
    let token = try endpoint.token()
    _ = try endpoint.call("POST", "/api/update-subscription", token: token, json: [field: "premium"])
    let body: [String: Any] = ["id": "x", "type": "ear", "conditions": []]
    let answer = try endpoint.call("POST", "/api/" + path, token: token, json: body)
    let status = try #require(answer.json["subscription"] as? [String: Any])
    for name in ["analysisLimit", "analysisRemaining"] {
      #expect(status[name] as? Int == limit && status[name] != nil)
    }
  }

  @Test(
    "The plan changes by the dialect's field",
    arguments: [(.guide, "subscription"), (.server, "subscription_level")]
      as [(EndpointConfiguration.Dialect, String)])
  func subscription(_ dialect: EndpointConfiguration.Dialect, _ field: String) throws {
    let endpoint = try TestEndpoint { $0.dialect = dialect }
    let token = try endpoint.token()
    let body = [field: "premium", "paymentToken": "t", "payment_token": "t"]
    let answer = try endpoint.call("POST", "/api/update-subscription", token: token, json: body)
    #expect((answer.json["user"] as? [String: Any])?["subscription"] as? String == "premium")
    let wrong = try endpoint.call("POST", "/api/update-subscription", token: token, json: [field: "gold"])
    #expect(wrong.status == 400)
  }

  @Test("Name and address change, but not to an address that is taken")
  func profile() throws {
    let endpoint = try TestEndpoint()
    let token = try endpoint.token()
    let change = ["name": "Countess", "email": "countess@example.org"]
    let answer = try endpoint.call("PUT", "/api/update-profile", token: token, json: change)
    #expect((answer.json["user"] as? [String: Any])?["name"] as? String == "Countess")
    let shown = try endpoint.call("GET", "/api/user-profile", token: token).json["user"] as? [String: Any]
    #expect(shown?["email"] as? String == "countess@example.org")
    let other = ["email": "ada@example.org", "password": "p"]
    #expect(try endpoint.call("POST", "/api/register", json: other).status == 201)
    let taken = try endpoint.call(
      "PUT", "/api/update-profile", token: token, json: ["email": "ada@example.org"])
    #expect(taken.status == 409)
  }

  @Test("Statistics are served as they are kept")
  func statistics() throws {
    let endpoint = try TestEndpoint()
    _ = try endpoint.upload(TestPicture.jpeg())
    _ = try endpoint.upload(Array("GIF".utf8))
    let answer = try endpoint.call("GET", "/api/stats")
    let served = try JSONDecoder().decode(EndpointStatistics.self, from: Data(answer.body))
    #expect(served.uploads == 2)
    #expect(served.outcomes == ["analysis": 1, "status-400": 1])
  }

  private func list(_ endpoint: TestEndpoint, _ token: String) throws -> [Any] {
    for (path, name) in [("/api/analyses", "analyses"), ("/api/analysis-history", "history")] {
      let answer = try endpoint.call("GET", path, token: token)
      if let list = answer.json[name] as? [Any] { return list }
    }
    throw RawClient.Failure(what: "no list")
  }
}
