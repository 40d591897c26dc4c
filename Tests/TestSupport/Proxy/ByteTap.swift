import Foundation
import Glibc
import Synchronization

/// Stands between a client and a server of the loopback and keeps every byte that passes, in both directions: what
/// somebody sees who captures the network.
public final class ByteTap: Sendable {
  /// Where clients connect.
  public let port: UInt16
  private let listener: Int32
  private let server: UInt16
  private let bytes = Mutex<[UInt8]>([])

  /// Listens before the server at a port of the loopback.
  ///
  /// - Throws: `TestSupportError` when there is no port to listen on.
  public init(before server: UInt16) throws {
    self.server = server
    port = try FreePort.find()
    guard let listener = Sockets.listen(port: port) else {
      throw TestSupportError("port \(port) was taken by somebody else")
    }
    self.listener = listener
    Thread.detachNewThread { [self] in accept() }
  }

  /// All that has passed so far.
  public var captured: [UInt8] { bytes.withLock { $0 } }

  /// Takes no more connections; those that are open end with their client or server.
  public func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { break }
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      guard let server = Sockets.connect(port: server) else {
        Glibc.close(client)
        continue
      }
      let ends = Ends(client, server)
      Thread.detachNewThread { [self] in pass(from: ends.client, to: ends.server, ends) }
      Thread.detachNewThread { [self] in pass(from: ends.server, to: ends.client, ends) }
    }
    Glibc.close(listener)
  }

  private func pass(from source: Int32, to target: Int32, _ ends: Ends) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      let part = buffer[..<count]
      bytes.withLock { $0.append(contentsOf: part) }
      guard Self.send(part, to: target) else { break }
    }
    // The other direction ends too, and with the last of the two threads the sockets are closed.
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  private static func send(_ bytes: ArraySlice<UInt8>, to target: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var sent = 0
      while sent < buffer.count {
        let count = Glibc.send(
          target, buffer.baseAddress.map { $0 + sent }, buffer.count - sent, Int32(MSG_NOSIGNAL))
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  /// The two sockets of a connection, closed when neither thread uses them any more.
  private final class Ends: Sendable {
    let client: Int32
    let server: Int32

    init(_ client: Int32, _ server: Int32) {
      self.client = client
      self.server = server
    }

    deinit {
      Glibc.close(client)
      Glibc.close(server)
    }
  }
}
