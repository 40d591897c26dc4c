import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("Images by URL, by the real executable")
struct RemoteImageTests {
  private func submit(_ arguments: String..., environment: [String: String]) async throws -> Executable.Ended
  {
    try await Executable(
      "analysisctl", ["submit", "--user", "u1", "--type", "throat"] + arguments, environment: environment
    ).ended()
  }

  @Test("are off unless hosts are named: code 64, and nothing is asked")
  func off() async throws {
    let server = try RawServer { $0.waitForClose() }
    defer { server.stop() }
    for url in ["https://127.0.0.1:\(server.port)/SECRET", "https://img.example.org/SECRET"] {
      let ended = try await submit("--url", url, environment: ["ANALYSIS_DATABASE": "host=/nonexistent"])
      #expect(ended.code == 64)
      #expect(ended.messages.contains("images by URL are not enabled"))
      #expect(!ended.messages.contains("SECRET"))
    }
    #expect(server.connectionCount == 0)
  }

  @Test("are refused one by one by their reasons, beside a file that is taken: code 4")
  func refused() async throws {
    try await withQueue { queue in
      try await queue.addUser("u1")
      let server = try RawServer { $0.waitForClose() }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let configuration = folder.path("analysisctl.conf")
      // Even where an operator names them, addresses that are not public are not asked.
      try Data(
        "url-hosts = 127.0.0.1:\(server.port), localhost:\(server.port), [::1]:\(server.port), *.example.org\n"
          .utf8
      ).write(to: URL(fileURLWithPath: configuration))
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let ended = try await submit(
        "--config", configuration, "--json", "--url", "https://127.0.0.1:\(server.port)/SECRET", "--url",
        "https://2130706433:\(server.port)/SECRET", "--url", "https://localhost:\(server.port)/SECRET",
        "--url",
        "https://[::1]:\(server.port)/SECRET", "--url", "https://evil.org/SECRET", "--url",
        "http://img.example.org/SECRET", picture, environment: queue.environment)
      #expect(ended.code == 4, "\(ended.messages)")
      let reasons = ended.output.split(separator: "\n").map { line in
        line.firstMatch(of: #/"reason":"?(\w+)/#).map { String($0.1) } ?? ""
      }
      #expect(
        reasons == [
          "null", "url_address_refused", "url_address_refused", "url_address_refused", "url_address_refused",
          "url_not_allowed", "url_invalid",
        ])
      #expect(!(ended.output + ended.messages).contains("SECRET"))
      #expect(server.connectionCount == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 1)
    }
  }

  @Test(
    "are fetched from a public address by https, and kept for the next time", .needsNetworkNamespace,
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
  func fetched() async throws {
    try await withQueue { queue in
      try await queue.addUser("u1")
      let (folder, authority) = (try TemporaryFolder(), try await Authority())
      let certificate = try await authority.certificate(names: "DNS:img.example.org")
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let keys = ["--key-file", folder.path("image.keys")]
      #expect(try await Executable("analysisctl", ["keys", "new"] + keys).ended().code == 0)
      // No proxy is asked, whatever the environment says. The server's socket is reached from another network namespace.
      let environment = try await queue.direct().environment.merging(
        ["https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"].map { ($0, "http://127.0.0.1:1") }
      ) { $1 }
      try Data("8.8.4.4 img.example.org\n127.0.0.1 near.example.org\n".utf8)
        .write(to: URL(fileURLWithPath: folder.path("hosts")))
      let server = [
        "/usr/bin/python3", packagePath("scripts/lib/peers/image-server.py"), certificate, authority.key,
        "8.8.4.4", "443", picture,
      ].joined(separator: " ")
      let script = NetworkNamespace.script(
        hosts: folder.path("hosts"), authorities: authority.file, server: server)
      let ended = try await Executable(
        "analysisctl",
        [
          "submit", "--user", "u1", "--type", "throat", "--json", "--url-hosts", "*.example.org",
          "--url-cache",
          folder.path("photos"), "--url", "https://img.example.org/a.jpg?SECRET", "--url",
          "https://img.example.org/missing?SECRET", "--url", "https://near.example.org/a.jpg?SECRET",
        ] + keys, environment: environment, script: script
      ).ended()
      // The authority's files go with it.
      withExtendedLifetime(authority) {}
      #expect(ended.code == 4, "\(ended.messages)")
      let lines = ended.output.split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines.first?.contains(#""outcome":"created""#) == true, "\(ended.output) \(ended.messages)")
      #expect(lines.dropFirst().first?.contains(#""reason":"url_bad_status""#) == true)
      #expect(lines.last?.contains(#""reason":"url_address_refused""#) == true)
      #expect(!(ended.output + ended.messages).contains("SECRET"))
      #expect(try await queue.text("SELECT source_name FROM analysis.job") == "img.example.org")

      // The next time it comes from the folder, without any network.
      let again = try await submit(
        "--again", "--url-hosts", "*.example.org", "--url-cache", folder.path("photos"), "--key-file",
        folder.path("image.keys"), "--url", "https://img.example.org/a.jpg?SECRET",
        environment: queue.environment)
      #expect(again.code == 0, "\(again.messages)")
    }
  }
}
