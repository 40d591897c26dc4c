import EventLoop
import TestSupport
import Testing

@testable import Control

@Suite("A server of this machine's own")
struct NotationTests {
  /// Each a way to write an address that must not be asked, with the system's own resolver.
  private static let spellings = [
    "127.0.0.1", "127.1", "127.0.1", "127.000.000.001", "2130706433", "0x7f000001", "0x7F.1", "0x7f.0.0.1",
    "0177.0.0.1", "017700000001", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "127.1.", "2130706433.", "0x7f000001.",
    "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "%31%32%37%2E%30%2E%30%2E%31", "127。0。0。1", "127．0．0．1",
    "127｡0｡0｡1", "１２７.0.0.1", "①②⑦.0.0.1", "127.0.0.1%00.example.org", "localhost", "LocalHost", "localhost.",
    "%6cocalhost", "ｌocalhost", "0", "0.0.0.0", "00", "0x0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::FFFF:7F00:0001]",
    "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[::1%25lo]", "[::1%lo]", "127.0.0.1:80@",
    "127.0.0.2", "127.255.255.254",
  ]

  @Test("is never asked, however its address is written", arguments: spellings)
  func refused(spelling: String) async throws {
    let server = try ImageHost()
    // Even where somebody allowed it by name.
    let names = ["127.0.0.1", "0.0.0.0", "[::1]", "[::]", "localhost", spelling]
    let hosts = names.compactMap { try? AllowedHost("\($0):\(server.port)") }
    let loop = try EventLoop(name: "notation")
    var network = NetworkDependencies.system
    network.allowsPlainHTTP = true
    let cache = RemoteImageCache(loop: loop, hosts: hosts, network: network)
    let error = await cache.failure("http://\(spelling):\(server.port)/a.jpg")
    await cache.close()
    loop.shutdown()
    let codes: [RemoteImageError.Code] = [.addressRefused, .invalid, .notAllowed, .unreachable]
    #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error))")
    #expect(server.connectionCount == 0)
  }

  @Test(
    "is refused for what it is",
    arguments: [
      "127.0.0.1", "127.1", "2130706433", "0x7f.1", "017700000001", "127.1.", "%31%32%37.0.0.1", "127。0。0。1",
      "１２７.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "localhost.", "169.254.169.254",
      "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "[fd00:ec2::254]",
      "100.100.100.200", "100.64.0.1", "0x64400001", "10.1", "0xc0a80101", "192.168.257",
      "[::ffff:a9fe:a9fe]", "[64:ff9b::169.254.169.254]", "[2002:a9fe:a9fe::]", "[::169.254.169.254]",
      "[fe80::1]",
    ])
  func reason(spelling: String) async throws {
    let canonical = try #require(RemoteAddress.host(of: "https://\(spelling)/"))
    let loop = try EventLoop(name: "notation")
    let cache = RemoteImageCache(loop: loop, hosts: [try AllowedHost(canonical)])
    let error = await cache.failure("https://\(spelling)/a.jpg?key=SECRET")
    await cache.close()
    loop.shutdown()
    #expect(error?.code == .addressRefused)
    #expect(error?.description.contains("SECRET") == false)
  }
}
