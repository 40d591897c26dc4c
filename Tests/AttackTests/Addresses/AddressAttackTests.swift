import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("An image's URL reaches nothing that is near this machine")
struct AddressAttackTests {
  /// Ways to write an address that must not be asked. `PORT` is the port of a server that listens there.
  static let attacks: [(tries: String, host: String)] = [
    ("the loopback", "127.0.0.1"), ("the loopback, short", "127.1"),
    ("the loopback as one number", "2130706433"),
    ("the loopback in hexadecimal", "0x7f000001"), ("the loopback in octal", "0177.0.0.1"),
    ("the loopback by escapes", "%31%32%37.0.0.1"), ("the loopback in full-width digits", "１２７.0.0.1"),
    ("the loopback with ideographic stops", "127。0。0。1"), ("the loopback by name", "localhost"),
    ("the loopback by name, with its dot", "localhost."),
    ("another address of the loopback", "127.255.255.254"),
    ("this machine", "0.0.0.0"), ("this machine, short", "0"), ("the loopback of IPv6", "[::1]"),
    ("IPv4 within IPv6", "[::ffff:127.0.0.1]"), ("IPv4 within IPv6, compatible", "[::127.0.0.1]"),
    ("IPv4 by NAT64", "[64:ff9b::127.0.0.1]"), ("IPv4 by 6to4", "[2002:7f00:1::]"),
    ("a cloud's metadata", "169.254.169.254"), ("a cloud's metadata as one number", "2852039166"),
    ("a cloud's metadata by IPv6", "[fd00:ec2::254]"), ("a private network", "10.0.0.1"),
    ("a carrier's network", "100.64.0.1"), ("who is asked behind a name", "img.example.org@127.0.0.1"),
  ]

  @Test("None is asked, even where an operator allowed it by name, and no message repeats the URL")
  func refused() async throws {
    try await withQueue { queue in
      try await queue.addUser("u1")
      let server = try RawServer { $0.waitForClose() }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let configuration = folder.path("analysisctl.conf")
      try Data("url-hosts = 127.0.0.1:\(server.port), localhost:\(server.port), [::1]:\(server.port)\n".utf8)
        .write(to: URL(fileURLWithPath: configuration))
      let urls = Self.attacks.flatMap { ["--url", "https://\($0.host):\(server.port)/SECRET"] }
      let ended = try await Executable(
        "analysisctl",
        ["submit", "--user", "u1", "--type", "throat", "--config", configuration, "--json"] + urls,
        environment: ["ANALYSIS_DATABASE": queue.database.conninfo]
      ).ended()
      #expect(ended.code == 4, "\(ended.messages)")
      let reasons = ended.output.split(separator: "\n").map { line in
        line.firstMatch(of: #/"reason":"?(\w+)/#).map { String($0.1) } ?? ""
      }
      #expect(reasons.count == Self.attacks.count)
      for (attack, reason) in zip(Self.attacks, reasons) {
        #expect(
          ["url_address_refused", "url_invalid", "url_not_allowed"].contains(reason),
          "\(attack.tries): \(reason)")
      }
      #expect(!(ended.output + ended.messages).contains("SECRET"))
      #expect(server.connectionCount == 0)
      #expect(try await queue.count("job") == 0)
    }
  }
}
