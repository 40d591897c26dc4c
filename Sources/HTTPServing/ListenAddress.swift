import Glibc

/// Where a server listens: a numeric address and a port.
public struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  /// The numeric address, IPv4 or IPv6.
  let host: String
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

extension ListenAddress {
  /// Listens there.
  ///
  /// - Returns: The socket, which blocks nobody.
  func listen() throws(HTTPServingError) -> Int32 {
    let bound = withSocketAddress { address, isIPv6 -> Int32 in
      let listener = socket(
        isIPv6 ? AF_INET6 : AF_INET,
        Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
      var one: Int32 = 1
      let size = socklen_t(MemoryLayout<Int32>.size)
      setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, size)
      if isIPv6 { setsockopt(listener, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, size) }
      let length = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
      if bind(listener, address, socklen_t(length)) == 0, Glibc.listen(listener, SOMAXCONN) == 0 {
        return listener
      }
      let code = errno
      close(listener)
      return -code
    }
    guard let bound else { throw HTTPServingError("\(host) is not a numeric address") }
    guard bound >= 0 else { throw HTTPServingError("cannot listen on \(self): \(Self.words(-bound))") }
    return bound
  }

  private static func words(_ code: Int32) -> String {
    switch code {
    case EADDRINUSE: "another program listens there"
    case EADDRNOTAVAIL: "this machine has no such address"
    case EACCES: "that port needs a right that this program does not have"
    default: "errno \(code)"
    }
  }

  /// The port that a socket listens on.
  static func port(of socket: Int32) -> UInt16 {
    // The port is at the same place for both families.
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &size) }
    }
    return UInt16(bigEndian: address.sin6_port)
  }
}
