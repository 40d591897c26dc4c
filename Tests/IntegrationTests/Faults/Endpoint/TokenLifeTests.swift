import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("The account's token in a long queue")
struct TokenLifeTests {
  @Test("ends many times on the way, and no job notices", arguments: ["guide", "server"])
  func shortLived(dialect: String) async throws {
    let folder = try TemporaryFolder()
    try Data(AccountInstallation.password.utf8).write(to: URL(filePath: folder.path("password")))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("password"))
    let options = [
      "--require-auth", "--account", "\(AccountInstallation.email):\(folder.path("password"))",
      "--token-lifetime", "5s",
      "--dialect", dialect, "--delay", "200ms",
    ]
    try await RunningEndpoint.with(options) { endpoint async throws in
      // Three lifetimes at least.
      try await AccountInstallation.with(jobs: 320, maxAttempts: 1) { installation in
        let ended = try await installation.drain(endpoint.url, horizon: "120s", ["--concurrency", "4"])
        #expect(ended.code == 0, "\(ended.messages)")
        #expect(try await installation.queue.results == 320)
        #expect(try await installation.queue.count("dead") == 0)
        #expect(try await installation.attempts(consumedOnly: true) == [])
      }
    }
  }

  @Test(
    "is renewed by the refresh token where there is one, in either spelling, and the password is sent once",
    arguments: ["guide", "server"])
  func refresh(dialect: String) async throws {
    let backend = try Backend(
      { .analysis($0) },
      login: { number in Self.session(number) },
      refresh: { number, request in
        let body = String(decoding: request.body, as: UTF8.self)
        return body.contains("\"refreshToken\":\"\(AccountInstallation.token)-refresh-\(number - 1)\"")
          ? Self.session(number) : .failure(401, "INVALID_CREDENTIALS")
      })
    try await AccountInstallation.with(jobs: 40) { installation in
      let worker = try installation.start(backend.url, ["--dialect", dialect, "--concurrency", "1"])
      try await eventually { try await installation.queue.results == 40 }
      // Tokens live for two seconds here; jobs that come later are called for with later ones.
      let picture = try await drawnPicture()
      while backend.accountCalls.count(where: { $0.target == "/api/refresh-token" }) < 3 {
        _ = try await installation.queue.submit(1, user: AccountInstallation.user, image: picture)
        try await Task.sleep(for: .milliseconds(200))
      }
      _ = await installation.stop(worker)
      let targets = backend.accountCalls.map(\.target)
      #expect(targets.first == "/api/login")
      #expect(targets.dropFirst().allSatisfy { $0 == "/api/refresh-token" }, "\(targets)")
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.attempts(consumedOnly: true) == [])
    }
  }

  @Test("is had by a new log-in when the refresh token has ended too")
  func refreshEnded() async throws {
    let backend = try Backend(
      { .analysis($0) }, login: { number in Self.session(number) },
      refresh: { _, _ in
        Backend.Reply(status: 401, body: #"{"error":true,"message":"Refresh token expired"}"#)
      })
    try await AccountInstallation.with(jobs: 5) { installation in
      let worker = try installation.start(backend.url)
      let picture = try await drawnPicture()
      while backend.accountCalls.count(where: { $0.target == "/api/login" }) < 3 {
        _ = try await installation.queue.submit(1, user: AccountInstallation.user, image: picture)
        try await Task.sleep(for: .milliseconds(200))
      }
      _ = await installation.stop(worker)
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.attempts(consumedOnly: true) == [])
    }
  }

  /// As one dialect writes it: a token that lives for two seconds, and one to renew it by.
  private static func session(_ number: Int) -> Backend.Reply {
    Backend.Reply(
      body: """
        {"error":false,"accessToken":"\(AccountInstallation.token)-\(number)","refreshToken":"\(AccountInstallation.token)-refresh-\(number)",
         "expiresIn":2}
        """)
  }
}
