import EventLoop
import Foundation
import HTTPTransfer
import Synchronization
import TestSupport

@testable import Endpoint
@testable import Support

/// What a fake backend answers.
struct Reply: Sendable {
  var status: Int
  var body: String
  var headers: [String]

  init(_ status: Int, _ body: String = "", headers: [String] = []) {
    self.status = status
    self.body = body
    self.headers = headers
  }
}

/// A backend whose answers a test decides, over real connections, and which remembers what it was asked.
final class FakeBackend: Sendable {
  private final class Record: Sendable {
    let requests = Mutex<[RawConnection.Received]>([])
  }

  private let record: Record
  private let server: RawServer

  init(_ answer: @escaping @Sendable (RawConnection.Received) throws -> Reply) throws {
    let record = Record()
    self.record = record
    server = try RawServer { connection in
      while let request = try connection.readRequest() {
        record.requests.withLock { $0.append(request) }
        let reply = try answer(request)
        try connection.respond(reply.status, reply.body, headers: reply.headers)
      }
    }
  }

  deinit {
    server.stop()
  }

  var url: String { server.url }

  var connectionCount: Int { server.connectionCount }

  var requests: [RawConnection.Received] { record.requests.withLock { $0 } }

  /// The requests to a path, in the order in which they came.
  func requests(to path: String) -> [RawConnection.Received] { requests.filter { $0.target == path } }
}

extension RawConnection.Received {
  var text: String { String(decoding: body, as: UTF8.self) }
  var authorization: String? { headers["authorization"] }
}

/// A client of a fake backend, on a loop of its own.
func withClient<R>(
  of backend: FakeBackend, dialect: Endpoint.Dialect = .server, clock: WallClock = .system,
  credentials: (@Sendable () throws -> Credentials)? = { .test }, _ body: (ModelClient) async throws -> R
) async throws -> R {
  try await withClient(at: backend.url, dialect: dialect, clock: clock, credentials: credentials, body)
}

/// A client of any address, on a loop of its own.
func withClient<R>(
  at url: String, dialect: Endpoint.Dialect = .server, clock: WallClock = .system,
  credentials: (@Sendable () throws -> Credentials)? = nil, _ body: (ModelClient) async throws -> R
) async throws -> R {
  let loop = try EventLoop(name: "model-test")
  let http = HTTPClient(loop: loop)
  let endpoint = Endpoint(name: "test", baseURL: url, dialect: dialect)
  let result: Result<R, any Error>
  do {
    result = .success(
      try await body(ModelClient(endpoint: endpoint, http: http, credentials: credentials, clock: clock)))
  } catch {
    result = .failure(error)
  }
  await http.close()
  loop.shutdown()
  return try result.get()
}

extension Credentials {
  static let test = Credentials(email: "service@example.org", password: Secret("correct horse"))
}
