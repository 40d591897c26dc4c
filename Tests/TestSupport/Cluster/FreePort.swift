import Glibc

/// Ports of the loopback for servers that are stopped and come back on the same one.
public enum FreePort {
  /// A port on which nobody listens, below those that the system gives to outgoing connections: one of these
  /// could take it while the server is down.
  public static func find() throws -> UInt16 {
    for _ in 0..<1000 {
      let port = UInt16.random(in: 15_000..<32_000)
      if let descriptor = Sockets.listen(port: port) {
        close(descriptor)
        return port
      }
    }
    throw TestSupportError("No free port was found between 15000 and 32000")
  }
}
