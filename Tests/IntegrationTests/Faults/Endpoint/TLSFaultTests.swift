import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite(
  "An endpoint whose certificate cannot be trusted",
  .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
struct TLSFaultTests {
  struct Certificate: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var names = "DNS:localhost,IP:127.0.0.1"
    var days = 2
    var isOfAnotherAuthority = false
    /// What the operator reads of it.
    let words: String
  }

  static let bad = [
    Certificate(
      testDescription: "of another host", names: "DNS:elsewhere.example",
      words: "no alternative certificate subject name matches"),
    Certificate(
      testDescription: "of an unknown authority", isOfAnotherAuthority: true,
      words: "unable to get local issuer certificate"),
    Certificate(testDescription: "that has expired", days: -1, words: "certificate has expired"),
  ]

  @Test("is sent nothing: the jobs wait, none pays for it, and the log says why", arguments: bad)
  func untrusted(certificate: Certificate) async throws {
    let (authority, other) = (try await Authority(), try await Authority())
    let file = try await authority.certificate(names: certificate.names, days: certificate.days)
    let trusted = certificate.isOfAnotherAuthority ? other.file : authority.file
    try await RunningEndpoint.with(["--tls-cert", file, "--tls-key", authority.key]) {
      endpoint async throws in
      // Many more than are in flight when the breaker opens: some always wait at the end.
      try await AccountInstallation.with(jobs: 40, maxAttempts: 1) { installation in
        let address = endpoint.url.replacing("http://", with: "https://")
        let ended = try await installation.drain(
          address, horizon: "2s", ["--ca-file", trusted, "--concurrency", "4"], account: false)
        #expect(ended.code == 75, "\(ended.messages)")
        let attempts = try await installation.attempts()
        #expect(!attempts.isEmpty)
        #expect(
          attempts.allSatisfy {
            $0.kind == "not_sent" && !$0.consumed && !$0.maybeCounted && $0.calls == 0
              && $0.message.contains(certificate.words)
          }, "\(attempts)")
        #expect(ended.messages.contains("The certificate of 127.0.0.1 was refused"))
        #expect(ended.messages.contains(certificate.words))
        #expect(try endpoint.calls.isEmpty)
        #expect(try await installation.unharmed == 40)
        #expect(try await installation.queue.units == 40)
      }
    }
  }

  @Test("is not even asked for a token: the password stays here", arguments: bad)
  func login(certificate: Certificate) async throws {
    let (authority, other) = (try await Authority(), try await Authority())
    let file = try await authority.certificate(names: certificate.names, days: certificate.days)
    let trusted = certificate.isOfAnotherAuthority ? other.file : authority.file
    try await RunningEndpoint.with(["--tls-cert", file, "--tls-key", authority.key]) {
      endpoint async throws in
      try await AccountInstallation.with(jobs: 12) { installation in
        let address = endpoint.url.replacing("http://", with: "https://")
        let ended = try await installation.drain(
          address, horizon: "2s", ["--ca-file", trusted, "--concurrency", "4"])
        #expect(ended.code == 75, "\(ended.messages)")
        #expect(ended.messages.contains(certificate.words))
        #expect(try await installation.unharmed == 12)
        #expect(try endpoint.calls.isEmpty)
      }
    }
  }

  @Test("while a rightful one is taken, by name and by address", arguments: ["localhost", "127.0.0.1"])
  func trusted(host: String) async throws {
    let authority = try await Authority()
    let file = try await authority.certificate(names: "DNS:localhost,IP:127.0.0.1")
    try await RunningEndpoint.with(["--tls-cert", file, "--tls-key", authority.key]) {
      endpoint async throws in
      try await AccountInstallation.with(jobs: 5) { installation in
        let address = endpoint.url.replacing("http://127.0.0.1", with: "https://\(host)")
        let ended = try await installation.drain(address, ["--ca-file", authority.file], account: false)
        #expect(ended.code == 0, "\(ended.messages)")
        #expect(try await installation.queue.results == 5)
        #expect(try endpoint.calls.count == 5)
      }
    }
  }
}
