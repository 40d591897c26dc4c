import Foundation
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Support

@Suite("A redirect")
struct RedirectTests {
  /// Remembers whatever comes to it, on any path.
  private final class Elsewhere: Sendable {
    private let seen = Mutex<[String]>([])

    var all: [String] { seen.withLock { $0 } }

    func add(_ text: String) { seen.withLock { $0.append(text) } }
  }

  @Test(
    "to another host is not followed: nothing of the request, the token least of all, gets there",
    arguments: [
      301, 302, 303, 307, 308,
    ])
  func otherHost(status: Int) async throws {
    let elsewhere = Elsewhere()
    let other = try RawServer { connection in
      elsewhere.add("a connection")
      connection.waitForClose()
    }
    defer { other.stop() }
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { _ in
        Backend.Reply(status: status, headers: ["Location: http://localhost:\(other.port)/api/analyze"])
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      try await expectRefused(installation, backend)
      #expect(elsewhere.all == [])
    }
  }

  @Test("to a file is not followed, and the file is not read")
  func file() async throws {
    let folder = try TemporaryFolder()
    let words = "words of a file that nobody may read"
    try Data(Answers.analysis(further: "\"message\":\"\(words)\"").utf8)
      .write(to: URL(filePath: folder.path("secret.json")))
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { _ in
        Backend.Reply(status: 302, headers: ["Location: file://\(folder.path("secret.json"))"])
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      try await expectRefused(installation, backend)
      #expect(!ended.messages.contains(words))
      #expect(try await installation.queue.results == 0)
    }
  }

  @Test(
    "to an address of metadata is not followed",
    arguments: [
      "http://169.254.169.254/latest/meta-data/iam/security-credentials/", "http://[fd00:ec2::254]/latest",
      "http://2852039166/latest", "//169.254.169.254/latest",
    ])
  func metadata(address: String) async throws {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { _ in
        Backend.Reply(status: 307, headers: ["Location: \(address)"])
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      try await expectRefused(installation, backend)
    }
  }

  @Test("of the log-in is not followed either: the password goes nowhere else")
  func login() async throws {
    let elsewhere = Elsewhere()
    let other = try RawServer { connection in
      elsewhere.add("a connection")
      connection.waitForClose()
    }
    defer { other.stop() }
    try await AccountInstallation.with(jobs: 3) { installation in
      let backend = try Backend(login: { _ in
        Backend.Reply(status: 307, headers: ["Location: http://localhost:\(other.port)/api/login"])
      })
      let ended = try await installation.drain(backend.url, horizon: "1s")
      #expect(ended.code == 75, "\(ended.messages)")
      #expect(elsewhere.all == [])
      #expect(try await installation.unharmed == 3)
    }
  }

  private func expectRefused(_ installation: AccountInstallation, _ backend: Backend) async throws {
    let attempts = try await installation.attempts()
    #expect(attempts.map(\.kind) == ["redirect"])
    #expect(attempts.allSatisfy { $0.calls == 1 && $0.message.contains("redirect, which is not followed") })
    #expect(try await installation.queue.count("dead") == 1)
    #expect(try await installation.queue.units == 0)
    #expect(backend.calls.count == 1)
  }
}
