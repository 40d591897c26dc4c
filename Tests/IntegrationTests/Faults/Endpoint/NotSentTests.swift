import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("An endpoint that cannot be reached")
struct NotSentTests {
  /// Drains jobs of a single attempt each: nothing is sent, none of them pays for it, and all wait on.
  private func expectNotSent(
    _ url: String, _ further: [String] = [], message: String
  ) async throws {
    // Many more than are in flight when the breaker opens: some always wait at the end.
    try await AccountInstallation.with(jobs: 40, maxAttempts: 1) { installation in
      let ended = try await installation.drain(
        url, horizon: "2s", ["--concurrency", "4"] + further, account: false)
      #expect(ended.code == 75, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(!attempts.isEmpty)
      #expect(
        attempts.allSatisfy {
          $0.kind == "not_sent" && !$0.consumed && !$0.maybeCounted && $0.calls == 0 && $0.status == nil
        }, "\(attempts)")
      #expect(attempts.allSatisfy { $0.message.contains(message) }, "\(attempts.map(\.message))")
      #expect(try await installation.unharmed == 40)
      #expect(try await installation.queue.units == 40)
    }
  }

  @Test(
    "that refuses connections: no attempt is consumed, none is marked as counted, and a drain ends with 75")
  func refused() async throws {
    let port = try ReservedPort()
    try await expectNotSent(port.url, message: "refused the connection")
    withExtendedLifetime(port) {}
  }

  @Test("whose name is unknown")
  func unknownName() async throws {
    // Where no name server answers either, the time for connecting ends it; both are "not sent".
    try await expectNotSent(
      "https://backend.invalid", ["--connect-timeout", "2s"], message: "backend.invalid")
  }

  @Test("that speaks no TLS where TLS is asked for")
  func noTLS() async throws {
    let server = try RawServer { connection in
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      connection.waitForClose()
    }
    defer { server.stop() }
    try await expectNotSent("https://127.0.0.1:\(server.port)", message: "TLS with 127.0.0.1 failed")
  }

  @Test("already for the log-in: the jobs wait as unharmed, and a drain ends with 75")
  func beforeLogin() async throws {
    try await AccountInstallation.with(jobs: 20) { installation in
      let port = try ReservedPort()
      let ended = try await installation.drain(port.url, horizon: "2s", ["--concurrency", "4"])
      withExtendedLifetime(port) {}
      #expect(ended.code == 75, "\(ended.messages)")
      #expect(try await installation.unharmed == 20)
      #expect(
        try await installation.attempts().allSatisfy {
          $0.kind == "not_sent" && !$0.consumed && $0.calls == 0
        })
      #expect(try await installation.queue.units == 20)
    }
  }

  @Test("that comes back while jobs are tried again: each is analysed, by one call, whatever its attempts")
  func comesBack() async throws {
    try await AccountInstallation.with(jobs: 3, maxAttempts: 1) { installation in
      let port = try ReservedPort()
      let worker = try installation.start(port.url, ["--concurrency", "1"], account: false)
      try await eventually { try await installation.attempts().count >= 4 }
      let backend = try AccountInstallation.backend(on: port)
      try await eventually { try await installation.queue.results == 3 }
      _ = await installation.stop(worker)
      #expect(backend.calls.count == 3)
      #expect(Set(backend.calls.map(\.job)) == Set(installation.jobs.map { Int($0.value) }))
      #expect(try await installation.attempts().allSatisfy { $0.kind == "not_sent" && $0.calls == 0 })
    }
  }

  @Test("that stays away is left alone after ten failures in a row, and the log says so")
  func breaker() async throws {
    try await AccountInstallation.with(jobs: 200, maxAttempts: 1) { installation in
      let port = try ReservedPort()
      let worker = try installation.start(port.url, ["--concurrency", "4"], account: false)
      try await eventually { worker.messagesSoFar.contains("fails and is not called for a while") }
      let ended = await installation.stop(worker)
      withExtendedLifetime(port) {}
      #expect(ended.messages.contains("not_sent"))
      #expect(try await installation.unharmed == 200)
    }
  }

  @Test(
    "that may not be called at all is refused when the worker starts",
    arguments: [
      "file:///etc/passwd", "http://169.254.169.254/latest/meta-data", "ftp://backend.example",
      "http://backend.example", "https://name:word@backend.example",
    ])
  func forbiddenAddress(address: String) async throws {
    try await AccountInstallation.with { installation in
      let ended = try await installation.drain(address)
      #expect(ended.code == 64, "\(ended.messages)")
      #expect(ended.messages.contains("The endpoint cannot be used"), "\(ended.messages)")
      #expect(try await installation.unharmed == 1)
    }
  }
}
