import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A call whose outcome is unknown")
struct OutcomeUnknownTests {
  /// The calls that end by themselves.
  static let ended: [Row] = [
    Row("the connection is reset when all was sent") { call in
      call.number == 1 ? .raw { $0.reset() } : .analysis(call)
    },
    Row("the connection is closed without an answer") { call in
      call.number == 1 ? .raw { $0.close() } : .analysis(call)
    },
  ]

  /// Those that only the deadline ends.
  static let endless: [Row] = [
    Row("the answer does not come within the deadline") { call in
      call.number == 1 ? .raw { $0.waitForClose() } : .analysis(call)
    },
    Row("the header comes and the body does not") { call in
      guard call.number == 1 else { return .analysis(call) }
      return .raw { connection in
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        connection.waitForClose()
      }
    },
    Row("a slow body, a byte at a time, is cut off by the deadline") { call in
      guard call.number == 1 else { return .analysis(call) }
      return .raw { connection in
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{\"id\":\"")
        while true {
          try connection.write("a")
          usleep(100_000)  // the slowness is the fault; the client's deadline ends it
        }
      }
    },
  ]

  @Test(
    "consumes an attempt, is marked as maybe counted, and is repeated with the same key", arguments: ended)
  func unknown(row: Row) async throws {
    try await expectOneRepeat(row, deadline: "60s")
  }

  @Test("does so too when its deadline ends it", arguments: endless)
  func unknownAtDeadline(row: Row) async throws {
    // Time enough to get as far as the row leads, and for the repeat to be answered.
    try await expectOneRepeat(row, deadline: "10s")
  }

  private func expectOneRepeat(_ row: Row, deadline: String) async throws {
    try await AccountInstallation.with { installation in
      let backend = try AccountInstallation.backend(row.answer)
      let ended = try await installation.drain(backend.url, ["--deadline", deadline])
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["outcome_unknown"])
      #expect(attempts.allSatisfy { $0.consumed && $0.maybeCounted && $0.calls == 1 })
      #expect(try await installation.queue.results == 1)
      #expect(
        try await installation.queue.number("SELECT attempt::int FROM analysis.result") == 2)
      #expect(backend.calls.count == 2)
      #expect(Set(backend.calls.map(\.key)).count == 1)
      #expect(backend.calls.first?.key != nil)
      #expect(try await installation.recordedCalls == 2)
      #expect(try await installation.queue.units == 1)
    }
  }

  @Test("by a reset while the picture was being sent is one too")
  func resetWhileSending() async throws {
    let resets = Countdown(1)
    let keys = Keys()
    let server = try RawServer { connection in
      while let head = try connection.readHead() {
        guard head.target == "/api/analyze" else {
          guard connection.readBody(of: head) != nil else { return }
          try connection.respond(200, Backend.Reply.token(AccountInstallation.token).body)
          continue
        }
        keys.add(head.headers["idempotency-key"])
        if resets.take() { return connection.reset() }
        guard connection.readBody(of: head) != nil else { return }
        try connection.respond(200, Answers.throat)
      }
    }
    defer { server.stop() }
    try await AccountInstallation.with { installation in
      let ended = try await installation.drain(server.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["outcome_unknown"])
      #expect(attempts.allSatisfy { $0.consumed && $0.maybeCounted && $0.calls == 1 })
      #expect(try await installation.queue.results == 1)
      #expect(keys.all.count == 2 && Set(keys.all).count == 1)
    }
  }

  @Test("for good is dead after its attempts, and nothing is counted")
  func forGood() async throws {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { _ in .raw { $0.reset() } }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.attempts().map(\.kind) == Array(repeating: "outcome_unknown", count: 3))
      #expect(try await installation.queue.count("dead") == 1)
      #expect(try await installation.queue.units == 0)
      #expect(backend.calls.count == 3)
    }
  }

  @Test(
    "is not waited for longer than the deadline, though the server's own limit is later; a longer deadline waits"
  )
  func deadline() async throws {
    // The server answers when the test lets it, as one with a limit of 120 s may answer after 100.
    let gate = Gate()
    let slow: @Sendable (Backend.Call) -> Backend.Reply = { call in
      gate.wait()
      return .analysis(call)
    }
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend(slow)
      let ended = try await installation.drain(backend.url, ["--deadline", "5s"], account: false)
      gate.open()
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["outcome_unknown"], "\(attempts)")
      #expect(try await installation.queue.count("dead") == 1)
      #expect(backend.calls.count == 1)
    }
    // The call takes longer than a lease; heartbeats keep the job, so that nobody calls for it again.
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend(slow)
      let worker = try installation.start(backend.url, ["--deadline", "10m", "--lease", "10s"])
      try await eventually { backend.calls.count == 1 }
      let first = try await installation.queue.text("SELECT deadline::text FROM analysis.lease")
      try await eventually {
        try await installation.queue.number(
          """
          SELECT count(*)::int FROM analysis.lease
          WHERE deadline > '\(first)' AND clock_timestamp() > '\(first)'
          """) == 1
      }
      gate.open()
      try await eventually { try await installation.queue.results == 1 }
      _ = await installation.stop(worker)
      #expect(backend.calls.count == 1)
    }
  }
}
