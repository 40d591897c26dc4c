import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("What somebody sees who captures the network", .enabled(if: Authority.isAvailable, "needs openssl"))
struct CaptureTests {
  /// What may not pass in plaintext: the account, its token (a JSON Web Token begins so), the beginning of a picture.
  private static let secrets: [(String, [UInt8])] = [
    ("the password", Array(AccountInstallation.password.utf8)),
    ("the address", Array(AccountInstallation.email.utf8)),
    ("a token", Array("eyJhbGciOi".utf8)), ("the header of a token", Array("Bearer eyJ".utf8)),
    ("a picture", [0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10] + Array("JFIF".utf8)),
  ]

  private func captured(_ arguments: [String], _ worker: [String], scheme: String) async throws -> [String] {
    let folder = try TemporaryFolder()
    let password = folder.path("password")
    try Data(AccountInstallation.password.utf8).write(to: URL(filePath: password))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
    let account = ["--require-auth", "--account", "\(AccountInstallation.email):\(password)"]
    return try await RunningEndpoint.with(arguments + account) { endpoint async throws in
      let port = try #require(endpoint.url.split(separator: ":").last.flatMap { UInt16($0) })
      let tap = try ByteTap(before: port)
      defer { tap.stop() }
      try await AccountInstallation.with(jobs: 10) { installation in
        let ended = try await installation.drain("\(scheme)://127.0.0.1:\(tap.port)", worker)
        #expect(ended.code == 0, "\(ended.messages)")
        #expect(try await installation.queue.results == 10)
      }
      let bytes = Data(tap.captured)
      #expect(bytes.count > 10_000, "ten pictures have passed")
      return Self.secrets.filter { bytes.range(of: Data($0.1)) != nil }.map(\.0)
    }
  }

  @Test("of a worker and an endpoint with TLS: no token, no password, no picture")
  func encrypted() async throws {
    let authority = try await Authority()
    let certificate = try await authority.certificate(names: "IP:127.0.0.1")
    let seen = try await captured(
      ["--tls-cert", certificate, "--tls-key", authority.key], ["--ca-file", authority.file], scheme: "https")
    #expect(seen == [])
  }

  @Test("of a worker and an endpoint without, which only the loopback allows: all of it")
  func plain() async throws {
    #expect(try await captured([], [], scheme: "http") == Self.secrets.map(\.0))
  }
}
