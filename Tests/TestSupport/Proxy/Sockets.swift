import Glibc

/// Sockets of the loopback and of the file system, closed on exec: no program that a test starts may hold a
/// connection open.
enum Sockets {
  /// Listens on a port of 127.0.0.1; nil when it is taken.
  static func listen(port: UInt16) -> Int32? {
    guard let descriptor = make(AF_INET) else { return nil }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    let isListening = withLoopback(port) {
      Glibc.bind(descriptor, $0, $1) == 0 && Glibc.listen(descriptor, 128) == 0
    }
    if !isListening { Glibc.close(descriptor) }
    return isListening ? descriptor : nil
  }

  /// Connects to a port of 127.0.0.1; nil when that is refused.
  static func connect(port: UInt16) -> Int32? {
    guard let descriptor = make(AF_INET) else { return nil }
    let isConnected = withLoopback(port) { Glibc.connect(descriptor, $0, $1) == 0 }
    if !isConnected { Glibc.close(descriptor) }
    return isConnected ? descriptor : nil
  }

  /// Connects to a socket of the file system; nil when nobody listens there.
  static func connect(path: String) -> Int32? {
    guard let descriptor = make(AF_UNIX) else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
      guard path.utf8.count < place.count else { return false }
      place.copyBytes(from: path.utf8)
      return true
    }
    let isConnected =
      fits
      && withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
    if !isConnected { Glibc.close(descriptor) }
    return isConnected ? descriptor : nil
  }

  private static func make(_ family: Int32) -> Int32? {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    return descriptor >= 0 ? descriptor : nil
  }

  private static func withLoopback<R>(
    _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
