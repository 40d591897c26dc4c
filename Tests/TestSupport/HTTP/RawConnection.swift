import Foundation
import Glibc
import Synchronization

/// One accepted connection of a `RawServer`; blocking, for the thread that serves it.
public final class RawConnection: Sendable {
  /// A request as it came.
  public struct Received: Sendable {
    /// The method.
    public var method: String
    /// The target of the request line.
    public var target: String
    /// The header fields, names in lower case.
    public var headers: [String: String]
    /// The body; empty as long as it is not read.
    public var body: [UInt8]
  }

  private let descriptor: Int32
  private let isOpen = Mutex(true)
  private let pending = Mutex<[UInt8]>([])

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Reads a request up to the end of its header; nil when the peer has closed.
  public func readHead() throws -> Received? {
    let end = Array("\r\n\r\n".utf8)
    while true {
      let head = pending.withLock { pending -> [UInt8]? in
        guard let range = pending.firstRange(of: end) else { return nil }
        let head = Array(pending[..<range.lowerBound])
        pending.removeSubrange(..<range.upperBound)
        return head
      }
      if let head { return try Self.parse(head) }
      guard readMore() else { return nil }
    }
  }

  /// Reads a whole request, with a body of `Content-Length` bytes; nil when the peer has closed.
  public func readRequest() throws -> Received? {
    guard var request = try readHead(), let body = readBody(of: request) else { return nil }
    request.body = body
    return request
  }

  /// Reads the body of a request whose header was read; nil when the peer has closed before its end.
  public func readBody(of head: Received) -> [UInt8]? {
    let length = Int(head.headers["content-length"] ?? "0") ?? 0
    while pending.withLock({ $0.count }) < length {
      guard readMore() else { return nil }
    }
    return pending.withLock { pending in
      defer { pending.removeFirst(length) }
      return Array(pending.prefix(length))
    }
  }

  /// Sends text.
  public func write(_ text: String) throws {
    try write(Array(text.utf8))
  }

  /// Sends bytes, all of them.
  public func write(_ bytes: [UInt8]) throws {
    guard isOpen.withLock({ $0 }) else { throw ServerFailure("the connection is closed") }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw ServerFailure.system("send") }
      sent += count
    }
  }

  /// Sends an answer with a body of known length on a connection that stays open.
  public func respond(_ status: Int, _ body: String = "", headers: [String] = []) throws {
    let fields = headers.map { $0 + "\r\n" }.joined()
    let length = body.utf8.count
    try write("HTTP/1.1 \(status) Status\r\nContent-Length: \(length)\r\n\(fields)\r\n\(body)")
  }

  /// Waits until something has come, and leaves it where it is.
  public func waitForBytes() {
    var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&descriptor, 1, -1)
  }

  /// Waits until the peer closes, throwing away what it sends.
  public func waitForClose() {
    while readMore() { pending.withLock { $0 = [] } }
  }

  /// Ends the connection by a reset instead of an orderly end.
  public func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  /// Closes; the second time does nothing.
  public func close() {
    isOpen.withLock { isOpen in
      if isOpen { Glibc.close(descriptor) }
      isOpen = false
    }
  }

  /// Wakes the thread that is reading or writing here, which then finds the end.
  func interrupt() {
    isOpen.withLock { if $0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  /// Reads what has come; false at the end, and after this side has closed, for then the descriptor may be another's.
  private func readMore() -> Bool {
    guard isOpen.withLock({ $0 }) else { return false }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return false }
    pending.withLock { $0 += buffer[..<count] }
    return true
  }

  private static func parse(_ head: [UInt8]) throws -> Received {
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { throw ServerFailure("the request line is malformed") }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard let name = parts.first else { continue }
      headers[name.lowercased()] =
        parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    }
    return Received(method: String(words[0]), target: String(words[1]), headers: headers, body: [])
  }
}
