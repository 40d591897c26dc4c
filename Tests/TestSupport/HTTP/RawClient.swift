import Foundation
import Glibc

/// A client of a few lines over a blocking socket: unlike a full client it repeats nothing, follows nothing
/// and shows exactly how a connection ended.
public final class RawClient {
  /// What came back.
  public struct Response {
    /// The status; 0 without an answer.
    public var status = 0
    /// The header fields, names in lower case.
    public var headers: [String: String] = [:]
    /// The body.
    public var body: [UInt8] = []
    /// How it ended.
    public var ending = Ending.complete

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as an object of JSON; empty when it is none.
    public var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }
  }

  /// How an answer ended.
  public enum Ending: Sendable { case complete, closedEarly, reset }

  /// What a call of the system came to.
  public struct Failure: Error {
    let what: String

    /// A failure, in words.
    public init(what: String) {
      self.what = what
    }
  }

  private var descriptor: Int32

  /// Connects to a port of 127.0.0.1.
  public init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure(what: "connect: errno \(errno)") }
  }

  deinit { close() }

  /// Closes the connection.
  public func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Says that nothing more is sent, and goes on to read.
  public func closeSide() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Breaks off the connection.
  public func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  /// Sends a request and reads its answer.
  public func request(
    _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = []
  ) throws -> Response {
    try send(method, path, headers: headers, body: body)
    return receive()
  }

  /// Sends a request.
  public func send(
    _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = []
  ) throws {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count)\r\n"
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    try send(raw: Array((head + "\r\n").utf8) + body)
  }

  /// Sends bytes as they are, whether they are a request or not.
  public func send(raw bytes: [UInt8]) throws {
    var offset = 0
    while offset < bytes.count {
      let sent = bytes.withUnsafeBytes {
        Glibc.send(
          descriptor, $0.baseAddress.map { $0 + offset }, bytes.count - offset, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { throw Failure(what: "send: errno \(errno)") }
      offset += sent
    }
  }

  /// Reads one answer to its announced length or to the end of the connection.
  public func receive() -> Response {
    var response = Response()
    var bytes: [UInt8] = []
    var bodyStart: Int?
    var expected = 0
    while true {
      if bodyStart == nil, let end = Self.endOfHead(bytes) {
        bodyStart = end
        Self.parse(bytes[..<end], into: &response)
        expected = Int(response.headers["content-length"] ?? "0") ?? 0
      }
      if let bodyStart, bytes.count - bodyStart >= expected { break }
      var buffer = [UInt8](repeating: 0, count: 65536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count <= 0 {
        response.ending = count < 0 && errno == ECONNRESET ? .reset : .closedEarly
        break
      }
      bytes += buffer[..<count]
    }
    if let bodyStart { response.body = Array(bytes[bodyStart...]) }
    return response
  }

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    Data(bytes.prefix(16384)).range(of: Data("\r\n\r\n".utf8))?.upperBound
  }

  private static func parse(_ head: ArraySlice<UInt8>, into response: inout Response) {
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    response.status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      response.headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
  }
}

extension RawClient {
  /// Reads until a text has come, as one of an answer that does not end; answers what was read.
  @discardableResult
  public func expect(_ text: String) throws -> String {
    var read: [UInt8] = []
    while !String(decoding: read, as: UTF8.self).contains(text) {
      guard let bytes = more() else {
        throw Failure(what: "closed after \(String(decoding: read, as: UTF8.self))")
      }
      read += bytes
    }
    return String(decoding: read, as: UTF8.self)
  }

  /// All that comes until the other side closes the connection.
  public func untilClosed() -> String {
    var read: [UInt8] = []
    while let bytes = more() { read += bytes }
    return String(decoding: read, as: UTF8.self)
  }

  private func more() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }
}
