import EventLoop
import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Support

@Suite("The service manager is told")
struct ServiceNotificationTests {
  /// A datagram socket as systemd would listen on.
  struct Manager: ~Copyable {
    let descriptor: Int32

    init(_ path: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var bytes = Array(path.utf8)
      if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = socklen_t(2 + bytes.count + (bytes[0] == 0 ? 0 : 1))
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in bind(descriptor, $0, length) }
      }
      try #require(bound == 0)
    }

    deinit { close(descriptor) }

    /// The message that is there; empty where there is none.
    func received() -> String {
      var bytes = [UInt8](repeating: 0, count: 1024)
      let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
  }

  @Test("by a socket in the file system and by an abstract one", arguments: [false, true])
  func messages(isAbstract: Bool) throws {
    let folder = try TemporaryFolder()
    let path = isAbstract ? "@operations-\(UUID().uuidString)" : "\(folder.path)/notify"
    let manager = try Manager(path)
    let service = ServiceNotification(environment: ["NOTIFY_SOCKET": path])
    #expect(service.isActive)
    service.ready()
    #expect(manager.received() == "READY=1")
    service.watchdog()
    #expect(manager.received() == "WATCHDOG=1")
    service.status("12 in flight\nREADY=1")
    #expect(manager.received() == "STATUS=12 in flight READY=1")
    service.stopping()
    #expect(manager.received() == "STOPPING=1")
    #expect(manager.received() == "")
  }

  @Test(
    "without a socket, or with one that is gone, nothing happens",
    arguments: ["", "vsock:2:1", "/nonexistent/notify"])
  func nobody(path: String) {
    let service = ServiceNotification(environment: ["NOTIFY_SOCKET": path])
    service.ready()
    #expect(service.isActive == path.hasPrefix("/"))
    #expect(!ServiceNotification(environment: [:]).isActive)
  }

  @Test(
    "the watchdog's interval holds for this process alone",
    arguments: [
      (["WATCHDOG_USEC": "30000000"], Duration.seconds(30)), ([:], nil), (["WATCHDOG_USEC": "0"], nil),
      (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"], nil),
      (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(getpid())"], .seconds(30)),
    ] as [([String: String], Duration?)])
  func watchdog(environment: [String: String], expected: Duration?) {
    let service = ServiceNotification(environment: environment.merging(["NOTIFY_SOCKET": "/x"]) { $1 })
    #expect(service.watchdogInterval == expected)
  }

  @Test("nothing while one of the program's loops hangs, and again when it goes on")
  func hangingLoop() async throws {
    let folder = try TemporaryFolder()
    let manager = try Manager("\(folder.path)/notify")
    let service = ServiceNotification(
      environment: ["NOTIFY_SOCKET": "\(folder.path)/notify", "WATCHDOG_USEC": "4000"])
    let loop = try EventLoop()
    let hanging = try EventLoop()
    let goesOn = DispatchSemaphore(value: 0)
    hanging.execute { goesOn.wait() }
    let watchdog = Task { await service.keepWatchdog(on: loop, hanging) }
    // Long enough for dozens of signs of life; on a slow machine there are fewer, and none is wrong.
    try await loop.sleep(for: .milliseconds(200))
    #expect(manager.received() == "")
    goesOn.signal()
    while manager.received().isEmpty { try await loop.sleep(for: .milliseconds(1)) }
    watchdog.cancel()
    await watchdog.value
  }
}
