import Glibc

/// Where a server listens: a numeric address and a port.
public struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  /// The numeric address, IPv4 or IPv6.
  public let host: String
  /// The port; 0 lets the system choose one.
  public let port: UInt16

  /// An address with its parts; whether it is numeric is seen when a server listens on it.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Reads `127.0.0.1:9464`, `[::1]:9464` or `localhost:9464`, which is 127.0.0.1; nil for anything else. Other names
  /// are refused: what they stand for may change while the server listens.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Self.port(text[text.index(after: colon)...]) else {
      return nil
    }
    var host = String(text[..<colon])
    if host == "localhost" { host = "127.0.0.1" }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
      guard host.contains(":") else { return nil }
    } else if host.contains(":") {
      return nil
    }
    self.init(host: host, port: port)
    guard withSocketAddress({ _, _ in true }) == true else { return nil }
  }

  private static func port(_ digits: Substring) -> UInt16? {
    digits.allSatisfy { $0.isASCII && $0.isNumber } ? UInt16(digits) : nil
  }

  /// Whether only this machine reaches it.
  public var isLoopback: Bool { host.hasPrefix("127.") || host == "::1" }

  /// `127.0.0.1:9464`, `[::1]:9464`.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Lends the address as the system wants it, and whether it is one of IPv6; nil when it is not numeric.
  func withSocketAddress<R>(_ body: (UnsafePointer<sockaddr>, Bool) -> R) -> R? {
    if host.contains(":") {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return nil }
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, true) }
      }
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, false) }
    }
  }
}
