import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A backend that fails")
struct ServerErrorTests {
  static let rows: [Row] = [
    Row("500", 500), Row("500 as HTML", 500, "<h1>Internal Server Error</h1>"), Row("501", 501),
    Row("502", 502, "<h1>Bad Gateway</h1>"), Row("504", 504, "<h1>Gateway Timeout</h1>"), Row("599", 599),
    Row("409", 409), Row("500 SERVER_ERROR") { _ in .failure(500, "SERVER_ERROR") },
    Row("200 SERVER_ERROR") { _ in .failure(200, "SERVER_ERROR") },
    Row("400 SERVER_ERROR") { _ in .failure(400, "SERVER_ERROR") },
    Row("500 whose error is a text", 500, #"{"error":"Something went wrong"}"#),
    Row("500 whose error is an object", 500, #"{"error":{"code":"SERVER_ERROR","message":"No."}}"#),
  ]

  @Test("is tried again as often as the job may be, then the job is dead", arguments: rows)
  func failing(row: Row) async throws {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend(row.answer)
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["server", "server", "server"], "\(attempts)")
      #expect(attempts.allSatisfy { $0.consumed && $0.maybeCounted && $0.calls == 1 && $0.status != nil })
      #expect(try await installation.queue.count("dead") == 1)
      #expect(try await installation.queue.units == 0)
      #expect(backend.calls.count == 3)
      #expect(Set(backend.calls.map(\.key)).count == 1)
    }
  }

  @Test("twice and then answers: the third attempt is stored, and the result knows it")
  func recovers() async throws {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { call in
        call.number <= 2 ? .failure(500, "SERVER_ERROR") : .analysis(call)
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.number("SELECT attempt::int FROM analysis.result") == 3)
      #expect(try await installation.recordedCalls == 3)
      #expect(try await installation.queue.units == 1)
    }
  }

  @Test("keeps code, message and error id with each attempt, and jobs show tells them")
  func errorID() async throws {
    try await AccountInstallation.with(maxAttempts: 2) { installation in
      let backend = try AccountInstallation.backend { call in
        Backend.Reply(
          status: 500,
          body: """
            {"error":true,"success":false,"message":"The image could not be processed.","code":"CRITICAL_ERROR",
             "category":"processing","recovery_action":"retry","error_id":"err-\(call.number)"}
            """)
      }
      try await installation.drain(backend.url)
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.errorID) == ["err-1", "err-2"])
      #expect(
        attempts.allSatisfy {
          $0.code == "CRITICAL_ERROR" && $0.message == "The image could not be processed."
        })
      let show = try Executable(
        "analysisctl", ["jobs", "show", "\(installation.jobs[0])", "--json"],
        environment: installation.queue.environment)
      let shown = await show.ended()
      #expect(shown.code == 0, "\(shown.messages)")
      #expect(shown.output.contains("err-1") && shown.output.contains("err-2"), "\(shown.output)")
    }
  }

  @Test("for all jobs is left alone after ten failures and probed; when it works again all jobs are analysed")
  func breaker() async throws {
    try await AccountInstallation.with(jobs: 150, maxAttempts: 10) { installation in
      let works = Switch()
      let backend = try AccountInstallation.backend { call in
        works.isOn ? .analysis(call) : .failure(500, "SERVER_ERROR")
      }
      let worker = try installation.start(backend.url, ["--concurrency", "8"])
      try await eventually { worker.messagesSoFar.contains("fails and is not called for a while") }
      let before = backend.calls.count
      // Ten in a row open it; what was in flight then ended too.
      #expect(before < 150, "\(before) calls")
      works.turnOn()
      try await eventually { try await installation.queue.results == 150 }
      let ended = await installation.stop(worker)
      #expect(ended.messages.contains("The endpoint answers again"))
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.recordedCalls == backend.calls.count)
    }
  }
}
