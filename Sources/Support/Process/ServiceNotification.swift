import Glibc

/// Tells systemd how the service does, by the sd_notify protocol: datagrams of `KEY=value` lines to the
/// socket named in `NOTIFY_SOCKET`. Without one, every call does nothing. A message that cannot be sent is
/// lost: the service goes on.
public struct ServiceNotification: Sendable {
  private let socketPath: String?
  /// How long the service manager waits for a sign of life; give one at half of it. Nil: it does not wait.
  public let watchdogInterval: Duration?

  /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` from the given environment.
  public init(environment: [String: String]) {
    let path = environment["NOTIFY_SOCKET"] ?? ""
    socketPath = path.hasPrefix("/") || path.hasPrefix("@") ? path : nil
    let isForUs = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
    let interval = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    watchdogInterval = isForUs && interval > 0 && socketPath != nil ? .microseconds(interval) : nil
  }

  /// Whether a service manager listens.
  var isActive: Bool { socketPath != nil }

  /// The service has started and does its work.
  public func ready() { send("READY=1") }

  /// The service is stopping in good order.
  public func stopping() { send("STOPPING=1") }

  /// A sign of life.
  public func watchdog() { send("WATCHDOG=1") }

  /// One line about what the service does, shown by `systemctl status`.
  public func status(_ text: String) { send("STATUS=\(printable(text, limit: 200))") }

  private func send(_ message: String) {
    guard let socketPath, let (name, length) = Self.address(socketPath) else { return }
    var address = name
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(message.utf8)
    withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
      }
    }
  }

  /// A leading "@" stands for the NUL of an abstract address, whose end is its length and not another NUL.
  private static func address(_ path: String) -> (sockaddr_un, socklen_t)? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    let isAbstract = bytes.first == UInt8(ascii: "@")
    if isAbstract { bytes[0] = 0 }
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let header = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    return (address, socklen_t(header + bytes.count + (isAbstract ? 0 : 1)))
  }
}
