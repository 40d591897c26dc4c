import Glibc
import Synchronization

/// A port of the loopback that is taken and at which nothing listens: whoever connects is refused, and no
/// other server can get it meanwhile.
public final class ReservedPort: Sendable {
  /// The port that the system chose.
  public let port: UInt16
  /// The bound socket; nil once a server has it.
  private let descriptor: Mutex<Int32?>

  /// Takes a free port.
  public init() throws {
    // No program that another test starts may hold a connection open.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw ServerFailure.system("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else {
      close(descriptor)
      throw ServerFailure.system("bind")
    }
    port = UInt16(bigEndian: address.sin_port)
    self.descriptor = Mutex(descriptor)
  }

  deinit {
    if let descriptor = descriptor.withLock({ $0.take() }) { close(descriptor) }
  }

  /// Its address, without a slash at its end.
  public var url: String { "http://127.0.0.1:\(port)" }

  /// Begins to listen, and gives the socket away.
  func listener() throws -> Int32 {
    guard let descriptor = descriptor.withLock({ $0.take() }) else {
      throw ServerFailure("the port has its server already")
    }
    guard listen(descriptor, 1024) == 0 else {
      close(descriptor)
      throw ServerFailure.system("listen")
    }
    return descriptor
  }
}
