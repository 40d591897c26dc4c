import EventLoop
import HTTPTestSupport
import PostgreSQL
import Synchronization
import TestSupport

@testable import Control
@testable import HTTPServing
@testable import Queue
@testable import Support

/// A clock that a test moves on.
final class MovedClock: Sendable {
  private let began = ContinuousClock.now
  private let passed = Mutex(Duration.zero)

  var now: @Sendable () -> ContinuousClock.Instant {
    { self.began + self.passed.withLock { $0 } }
  }

  func pass(_ duration: Duration) { passed.withLock { $0 += duration } }
}

/// A dashboard that is served, and a browser in front of it.
struct Served {
  let server: HTTPServer
  let dashboard: Dashboard

  func request(
    _ method: String, _ path: String, _ headers: [String: String] = [:], form: String = ""
  ) throws -> RawClient.Response {
    var headers = headers
    if method == "POST" { headers["Content-Type"] = "application/x-www-form-urlencoded" }
    return try RawClient(port: server.address.port).request(
      method, path, headers: headers, body: Array(form.utf8))
  }

  func get(_ path: String, _ headers: [String: String] = [:]) throws -> RawClient.Response {
    try request("GET", path, headers)
  }

  /// The cookie and the form's token that somebody gets who opens an action's form.
  func form(_ path: String, _ headers: [String: String] = [:]) throws -> (cookie: String, token: String) {
    let answer = try get(path, headers)
    let given = answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init)
    let token = answer.text.firstMatch(of: /name="token" value="([0-9a-f]{64})"/).map { String($0.1) }
    return (given ?? headers["Cookie"] ?? "", token ?? "")
  }
}

/// Serves the dashboard as a login.
func withDashboard(
  _ database: ConnectionPool, _ rule: (DashboardContext) -> Door.Rule = { .thisMachine($0) },
  clock: MovedClock = MovedClock(),
  reviewsRefusal: String? = nil, below basePath: String = "",
  openPicture: @escaping @Sendable (ExportedImage) async throws -> [UInt8] = { picture in
    picture.image.bytes.withUnsafeBytes { Array($0) }
  },
  openPhoto: @escaping @Sendable (String) async -> [UInt8]? = { _ in nil },
  _ body: (Served) async throws -> Void
) async throws {
  let monitor = QueueMonitor(database, now: clock.now)
  let context = try await DashboardContext(
    database, monitor, owner: ProcessOwner(user: "ops", host: "desk"), reviewsRefusal: reviewsRefusal,
    openPicture: openPicture,
    openPhoto: openPhoto, now: clock.now)
  let dashboard = Dashboard(rule(context), below: basePath, now: clock.now)
  var bounds = Dashboard.bounds
  bounds.answer = HTTPServer.Bounds.patient.answer
  let server = try HTTPServer(
    ListenAddress(host: "127.0.0.1", port: 0), dashboard.routes, bounds: bounds,
    events: dashboard.events)
  let outcome: Result<Void, any Error>
  do { outcome = .success(try await body(Served(server: server, dashboard: dashboard))) } catch {
    outcome = .failure(error)
  }
  await server.stop()
  await dashboard.forgetLogins(all: true)
  try outcome.get()
}
