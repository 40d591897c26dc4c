import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A service account that is not let in")
struct AccountFaultTests {
  @Test("by a token that ends for all calls in flight at once gets one refresh, and every job succeeds")
  func endedForAll() async throws {
    try await AccountInstallation.with(jobs: 100) { installation in
      // All 32 calls of a window are answered together, when every one of them is there.
      let together = Barrier(32)
      let backend = try AccountInstallation.backend { call in
        guard call.token == "Bearer \(AccountInstallation.token)-1" else { return .analysis(call) }
        together.wait()
        return Backend.Reply(status: 401, body: #"{"error":true,"message":"Token expired"}"#)
      }
      let ended = try await installation.drain(backend.url, ["--concurrency", "32", "--prefetch", "32"])
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(backend.calls.count { $0.token == "Bearer \(AccountInstallation.token)-1" } >= 32)
      #expect(backend.logins == 2)
      #expect(try await installation.queue.results == 100)
      #expect(try await installation.attempts() == [])
      // Each repeat is a call of the same attempt.
      #expect(try await installation.recordedCalls == backend.calls.count)
      #expect(
        try await installation.queue.number("SELECT count(*)::int FROM analysis.result WHERE attempt = 1")
          == 100)
    }
  }

  static let pauses: [Row] = [
    Row("401 whatever the token", 401, #"{"error":true,"message":"Authentication required"}"#),
    Row("401 with INVALID_CREDENTIALS") { _ in .failure(401, "INVALID_CREDENTIALS") },
    Row("200 with INVALID_CREDENTIALS") { _ in .failure(200, "INVALID_CREDENTIALS") },
    Row("403", 403, #"{"error":true,"message":"Permission denied."}"#),
    Row("403 as HTML", 403, "<html>Forbidden</html>"),
    Row("402") { _ in .failure(402, "PAYMENT_REQUIRED") },
    Row("404", 404, "<html>Not found</html>"),
    Row("405", 405),
    Row("403 with ANALYSIS_LIMIT_EXCEEDED") { _ in .failure(403, "ANALYSIS_LIMIT_EXCEEDED") },
    Row("429 with ANALYSIS_LIMIT_EXCEEDED") { _ in .failure(429, "ANALYSIS_LIMIT_EXCEEDED") },
    Row("200 with ANALYSIS_LIMIT_EXCEEDED") { _ in .failure(200, "ANALYSIS_LIMIT_EXCEEDED") },
    Row("500 with ANALYSIS_LIMIT_EXCEEDED") { _ in .failure(500, "ANALYSIS_LIMIT_EXCEEDED") },
  ]

  @Test("pauses the endpoint with an alarm; no attempt is consumed and no job fails", arguments: pauses)
  func paused(row: Row) async throws {
    try await AccountInstallation.with(jobs: 60, maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend(row.answer)
      let ended = try await installation.drain(backend.url, horizon: "2s", ["--concurrency", "8"])
      #expect(ended.code == 75, "\(ended.messages)")
      #expect(ended.messages.contains("The endpoint is paused; jobs wait and none is failed"))
      #expect(ended.output.contains("not called: \(backend.url)") || ended.messages.contains("not called"))
      #expect(try await installation.attempts(consumedOnly: true) == [])
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.unharmed == 60)
      #expect(try await installation.queue.units == 60)
      // Every call is accounted for, though it cost no attempt.
      #expect(try await installation.recordedCalls == backend.calls.count)
      // Those in flight when the first was refused, each at most twice, and no others.
      #expect(backend.calls.count <= 16, "\(backend.calls.count)")
      #expect(backend.logins <= 2)
    }
  }

  /// What a log-in is answered.
  struct Login: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Backend.Reply
  }

  static let logins = [
    Login(testDescription: "401", reply: .failure(401, "INVALID_CREDENTIALS")),
    Login(testDescription: "403", reply: Backend.Reply(status: 403, body: "<html>Forbidden</html>")),
    Login(testDescription: "200 without a token", reply: Backend.Reply(body: "{}")),
    Login(testDescription: "HTML", reply: Backend.Reply(body: "<html>Welcome</html>")),
    Login(testDescription: "500", reply: .failure(500, "SERVER_ERROR")),
    Login(testDescription: "429", reply: .failure(429, "BUSY", headers: ["Retry-After: 1"])),
  ]

  @Test("at the log-in is not called at all, whatever the log-in was refused for", arguments: logins)
  func login(row: Login) async throws {
    try await AccountInstallation.with(jobs: 20, maxAttempts: 1) { installation in
      let backend = try Backend(login: { _ in row.reply })
      let worker = try installation.start(backend.url)
      // Long enough for the same log-in to be tried again.
      try await eventually { backend.logins >= 2 }
      _ = await installation.stop(worker)
      #expect(backend.calls.isEmpty)
      #expect(try await installation.attempts(consumedOnly: true) == [])
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.unharmed == 20)
    }
  }

  @Test("goes on by itself when the file of the credentials has been corrected")
  func corrected() async throws {
    try await AccountInstallation.with(jobs: 3) { installation in
      let backend = try Backend(
        { .analysis($0) },
        login: { number in
          number == 1
            ? .failure(401, "INVALID_CREDENTIALS") : .token("\(AccountInstallation.token)-\(number)")
        })
      // The first probe comes after half a minute.
      let worker = try installation.start(backend.url)
      try await eventually { try await installation.queue.results == 3 }
      let ended = await installation.stop(worker)
      #expect(ended.messages.contains("look at the credentials file"))
      #expect(ended.messages.contains("The endpoint answers again"))
      #expect(try await installation.attempts(consumedOnly: true) == [])
    }
  }

  @Test("until a time that is near, by a limit with Retry-After, is called again after it")
  func limitWithTime() async throws {
    try await AccountInstallation.with(jobs: 3, maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { call in
        call.number == 1
          ? .failure(429, "ANALYSIS_LIMIT_EXCEEDED", headers: ["Retry-After: 2"]) : .analysis(call)
      }
      let worker = try installation.start(backend.url, ["--concurrency", "1"])
      try await eventually { try await installation.queue.results == 3 }
      let ended = await installation.stop(worker)
      #expect(ended.messages.contains("monthly limit is reached"))
      #expect(try await installation.attempts(consumedOnly: true) == [])
    }
  }
}
