import HTTPTransfer
import Synchronization
import TestSupport

@testable import Control

/// A server of pictures on the loopback, which stands for a host on the internet: the picture of `/7.png` has the
/// grey 7, and what is not called so is not there.
final class ImageServer: Sendable {
  private let asked: Asked
  private let server: RawServer

  private final class Asked: Sendable {
    let targets = Mutex<[String]>([])
  }

  init() throws {
    let asked = Asked()
    self.asked = asked
    server = try RawServer { connection in
      while let request = try connection.readRequest() {
        asked.targets.withLock { $0.append(request.target) }
        let path = request.target.prefix { $0 != "?" }
        switch (path.hasSuffix(".png"), UInt8(path.dropFirst().dropLast(4))) {
        case (true, let grey?):
          let picture = TinyPicture.png(grey: grey)
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(picture.count)\r\n\r\n")
          try connection.write(picture)
        default:
          switch path {
          case "/text.png": try connection.respond(200, "no picture")
          case "/large.png": try connection.respond(200, String(repeating: "x", count: 10_000_001))
          case "/moved.png": try connection.respond(302, headers: ["Location: https://elsewhere.org/"])
          default: try connection.respond(404)
          }
        }
      }
    }
  }

  deinit { server.stop() }

  /// What it was asked for, in order.
  var targets: [String] { asked.targets.withLock { $0 } }

  /// What is to be allowed.
  var host: String { "img.example.org:\(server.port)" }

  func url(_ path: String) -> String { "http://\(host)\(path)" }

  /// A network in which every name leads to this server, but for those that end in `.private`, which lead to
  /// another address of the loopback.
  var network: NetworkDependencies {
    var network = NetworkDependencies(
      resolver: NameResolver { host in
        [IPAddress(host.hasSuffix(".private") ? "127.0.0.2" : "127.0.0.1")].compactMap { $0 }
      }, now: { 1_800_000_000 })
    network.exempt = Set([IPAddress("127.0.0.1")].compactMap { $0 })
    network.allowsPlainHTTP = true
    return network
  }
}
