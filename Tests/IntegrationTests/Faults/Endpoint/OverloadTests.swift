import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("An overloaded backend")
struct OverloadTests {
  @Test(
    "that asks for later by 408 or 429 costs no attempt; the job is analysed when it may",
    arguments: [408, 429])
  func free(status: Int) async throws {
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { call in
        call.number <= 3 ? .failure(status, "BUSY", headers: ["Retry-After: 0"]) : .analysis(call)
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["overload", "overload", "overload"])
      #expect(
        attempts.allSatisfy { !$0.consumed && $0.calls == 1 && $0.status == status && $0.code == "BUSY" })
      #expect(try await installation.queue.number("SELECT attempt::int FROM analysis.result") == 1)
      #expect(try await installation.recordedCalls == 4)
    }
  }

  @Test("that answers 503 costs an attempt, since it may be so for good")
  func consuming() async throws {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { _ in
        Backend.Reply(status: 503, body: "<h1>Unavailable</h1>")
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == Array(repeating: "overload", count: 3))
      #expect(attempts.allSatisfy { $0.consumed && !$0.maybeCounted })
      #expect(try await installation.queue.count("dead") == 1)
      #expect(try await installation.queue.units == 0)
    }
  }

  @Test(
    "is obeyed: the job is scheduled for the time it names, by the server's clock",
    arguments: [
      ("7200", 3600.0), ("600", 600), ("99999999999999999999999", 3600), ("0060", 60),
    ], [408, 429, 503])
  func seconds(asked: (header: String, seconds: Double), status: Int) async throws {
    try await expectScheduled(status, ["Retry-After: \(asked.header)"], after: asked.seconds)
  }

  @Test("is obeyed when it names a date", arguments: [408, 429, 503])
  func date(status: Int) async throws {
    // Both dates are the backend's own: what counts is the time between them.
    try await expectScheduled(
      status, ["Date: Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After: Sun, 06 Nov 1994 08:59:37 GMT"],
      after: 600)
  }

  @Test(
    "that names a time which is none is asked again after the usual pause",
    arguments: [
      "-5", "soon", "1e3", "1.5", "", "Sun, 06 Nov 1994 08:49:37 GMT",
    ])
  func nonsense(header: String) async throws {
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { call in
        call.number == 1 ? .failure(429, "BUSY", headers: ["Retry-After: \(header)"]) : .analysis(call)
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 1)
      #expect(backend.calls.count == 2)
    }
  }

  /// One job, whose first call is refused; asserted is when it runs again, between the given time and the
  /// second of jitter that is added to it, both counted from the moment in which the attempt was recorded.
  private func expectScheduled(_ status: Int, _ headers: [String], after seconds: Double) async throws {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { _ in .failure(status, "BUSY", headers: headers) }
      let ended = try await installation.drain(backend.url, horizon: "5s")
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(backend.calls.count == 1)
      let wait = try await installation.queue.pool.query(
        """
        SELECT extract(epoch FROM s.run_at - e.at)::float8
        FROM analysis.scheduled s JOIN analysis.attempt_error e USING (shard, job_id)
        """
      ).single().double(0)
      #expect((seconds...(seconds + 1)).contains(wait), "\(wait)")
      #expect(try await installation.queue.units == 1)
    }
  }

  @Test("that takes ten uploads an hour gets what it takes; the others wait and none fails")
  func tenAnHour() async throws {
    try await AccountInstallation.with(jobs: 30, maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { call in
        call.number <= 10 ? .analysis(call) : .failure(429, "TOO_MANY", headers: ["Retry-After: 3600"])
      }
      let ended = try await installation.drain(backend.url, horizon: "5s")
      #expect(ended.code == 0 || ended.code == 75, "\(ended.messages)")
      #expect(try await installation.queue.results == 10)
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.unharmed == 20)
      #expect(try await installation.queue.units == 30)
      #expect(try await installation.attempts(consumedOnly: true) == [])
    }
  }
}
