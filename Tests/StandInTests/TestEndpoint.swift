import Foundation
import Synchronization
import TestSupport

@testable import StandIn

/// An endpoint of a test's own, on a port of its own.
struct TestEndpoint {
  static let boundary = "b0undary"

  let server: EndpointServer

  /// Starts an endpoint with one account (`ada@example.org`, password `secret`) and what `change` sets.
  init(clock: EndpointClock = .system, _ change: (inout EndpointConfiguration) throws -> Void = { _ in })
    throws
  {
    var configuration = EndpointConfiguration()
    configuration.accounts = [NewAccount(email: "ada@example.org", password: "secret", name: "Ada")]
    try change(&configuration)
    server = try EndpointServer(configuration, clock: clock)
  }

  /// An endpoint whose every upload is struck by one failure.
  static func failing(_ fault: FaultClass) throws -> TestEndpoint {
    try TestEndpoint {
      $0.faults = try FaultPlan(seed: 1, rules: [FaultRule(fault, share: 1)])
      $0.dripInterval = .milliseconds(1)
    }
  }

  func client() throws -> RawClient { try RawClient(port: server.port) }

  /// One request with a JSON body on a connection of its own.
  func call(
    _ method: String, _ path: String, token: String? = nil, json: [String: Any]? = nil
  ) throws -> RawClient.Response {
    var headers: [String: String] = [:]
    headers["Authorization"] = token.map { "Bearer \($0)" }
    let body = try json.map { [UInt8](try JSONSerialization.data(withJSONObject: $0)) } ?? []
    if json != nil { headers["Content-Type"] = "application/json" }
    return try client().request(method, path, headers: headers, body: body)
  }

  /// One upload on a connection of its own.
  func upload(
    _ image: [UInt8], type: String = "throat", token: String? = nil, key: String? = nil
  ) throws -> RawClient.Response {
    try client().request(
      "POST", "/api/analyze", headers: Self.uploadHeaders(token: token, key: key),
      body: Self.form(image, type: type))
  }

  /// Logs the account in and returns its access token.
  func token() throws -> String {
    let answer = try call(
      "POST", "/api/login", json: ["email": "ada@example.org", "password": "secret"]
    ).json
    guard let token = (answer["token"] ?? answer["accessToken"]) as? String else {
      throw RawClient.Failure(what: "log-in gave no token")
    }
    return token
  }

  /// Calls the endpoint until its statistics are as wanted.
  ///
  /// - Throws: `RawClient.Failure` if they are not within `patience`.
  func wait(until condition: (EndpointStatistics) -> Bool) throws {
    let limit = ContinuousClock.now + patience
    while !condition(server.statistics) {
      guard ContinuousClock.now < limit else {
        throw RawClient.Failure(what: "the statistics stay \(server.statistics)")
      }
      // Served by the same threads, so it is answered only if what is held holds none of them.
      _ = try call("GET", "/api/health")
    }
  }

  static func uploadHeaders(token: String? = nil, key: String? = nil) -> [String: String] {
    var headers = ["Content-Type": "multipart/form-data; boundary=\(boundary)"]
    headers["Authorization"] = token.map { "Bearer \($0)" }
    headers["Idempotency-Key"] = key
    return headers
  }

  static func form(_ image: [UInt8], type: String = "throat", file: String = "image") -> [UInt8] {
    let head = """
      --\(boundary)\r\nContent-Disposition: form-data; name="type"\r\n\r\n\(type)\r\n\
      --\(boundary)\r\nContent-Disposition: form-data; name="\(file)"; filename="image.jpg"\r\n\
      Content-Type: image/jpeg\r\n\r\n
      """
    return Array(head.utf8) + image + Array("\r\n--\(boundary)--\r\n".utf8)
  }
}

/// A clock that a test sets.
final class ManualClock: Sendable {
  private let time: Mutex<Double>

  init(_ time: Double) { self.time = Mutex(time) }

  var clock: EndpointClock { EndpointClock { self.time.withLock { $0 } } }

  func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}
