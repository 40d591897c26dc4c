import Synchronization
import TestSupport

/// A server that gives images, and remembers what it was asked.
final class ImageHost: Sendable {
  private let requests: Requests
  private let server: RawServer

  private final class Requests: Sendable {
    let all = Mutex<[RawConnection.Received]>([])
  }

  /// - Parameter answer: Answers a request; the connection stays open.
  init(
    _ answer: @escaping @Sendable (RawConnection, RawConnection.Received) throws -> Void = {
      connection, request in
      try connection.respond(200, "image of \(request.target)")
    }
  ) throws {
    let requests = Requests()
    self.requests = requests
    server = try RawServer { connection in
      while let request = try connection.readRequest() {
        requests.all.withLock { $0.append(request) }
        try answer(connection, request)
      }
    }
  }

  deinit { server.stop() }

  var received: [RawConnection.Received] { requests.all.withLock { $0 } }
  var connectionCount: Int { server.connectionCount }
  var port: UInt16 { server.port }
  /// What is to be allowed.
  var host: String { "img.example.org:\(server.port)" }

  func url(_ path: String = "/a.jpg?signature=SECRET") -> String { "http://\(host)\(path)" }
}

extension String {
  /// The bytes in which an image host gives a text.
  var bytes: [UInt8] { Array(utf8) }
}
