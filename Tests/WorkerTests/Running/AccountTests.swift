import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("The service account")
struct AccountTests {
  @Test("A token that has ended is renewed by one log-in for all in flight, and every job succeeds")
  func endedToken() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(20)
      let backend = try Backend { call in
        call.token == "Bearer token-1" ? .failure(401, "INVALID_TOKEN") : .analysis(call)
      }
      let summary = try await Running.drain(queue, backend, credentials: true)
      #expect(summary.completed == 20 && summary.dead == 0 && summary.retried == 0)
      #expect(backend.logins == 2)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.result WHERE attempt = 1") == 20)
      try await queue.expectSound()
    }
  }

  @Test("Wrong credentials pause the endpoint and fail no job; a drain says what waits")
  func wrongCredentials() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(20)
      let backend = try Backend(login: { _ in .failure(401, "INVALID_CREDENTIALS") })
      let summary = try await Running.drain(queue, backend, horizon: .seconds(1), credentials: true)
      #expect(summary.isParked)
      #expect(
        summary.left.contains { $0.hasPrefix("waiting in ") && $0.hasSuffix(": 20") }, "\(summary.left)")
      #expect(summary.left.contains { $0.contains("credentials") }, "\(summary.left)")
      #expect(backend.calls.isEmpty)
      #expect(summary.dead == 0 && summary.retried == 0 && summary.completed == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 20)
      try await queue.expectSound()
    }
  }

  @Test("An endpoint that this worker may not call is paused; no job fails or waits for a retry")
  func forbiddenHere() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(20)
      // Plain http to another machine, which only a start of the program would have told.
      let summary = try await Running(
        queue.database.configuration, [.throat: "http://192.0.2.1:9", .ear: "http://192.0.2.1:9"]
      ) {
        $0.drainHorizon = .seconds(1)
      }.summary()
      #expect(summary.isParked)
      #expect(summary.left.contains { $0.contains("settings forbid") }, "\(summary.left)")
      #expect(summary.dead == 0 && summary.retried == 0 && summary.calls == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 20)
      try await queue.expectSound()
    }
  }

  @Test(
    "An account at its limit pauses the endpoint; every job goes back unharmed", arguments: [429, 403, 200])
  func limit(status: Int) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(40)
      let backend = try Backend { call in
        call.number <= 7 ? .analysis(call) : .failure(status, "ANALYSIS_LIMIT_EXCEEDED")
      }
      let summary = try await Running.drain(queue, backend, horizon: .seconds(5)) {
        $0.prefetch = 30
        // Two images at a time: most are still to be read when the endpoint is paused.
        $0.imageBytes = 1000
      }
      #expect(summary.isParked)
      #expect(summary.left.contains { $0.contains("limit") }, "\(summary.left)")
      #expect(summary.dead == 0 && summary.retried == 0)
      #expect(try await queue.results == 7)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 33)
      // Every call is accounted for: by a result, or by a line of its job's history that consumed nothing.
      let recorded = try await queue.number(
        "SELECT coalesce(sum(calls), 0)::int FROM analysis.attempt_error WHERE class = 'service_limit' AND NOT consumed"
      )
      #expect(recorded == backend.calls.count - 7)
      try await queue.expectSound()
    }
  }
}
