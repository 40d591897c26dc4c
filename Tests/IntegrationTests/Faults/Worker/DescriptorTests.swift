import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("A worker that is out of file descriptors")
struct DescriptorTests {
  @Test("does not start below what it needs, says what to raise, and ends with 64", arguments: [8, 20, 40])
  func refuses(limit: Int) async throws {
    try await Installation.with(jobs: 3) { installation in
      let worker = try installation.worker(script: "ulimit -n \(limit) && exec \"$0\" \"$@\"")
      let ended = await worker.ended()
      #expect(ended.code == 64 && !ended.wasKilled, "\(ended.messages)")
      #expect(ended.messages.contains("only \(limit) files and sockets open"), "\(ended.messages)")
      #expect(ended.messages.contains("LimitNOFILE"), "\(ended.messages)")
      #expect(try await installation.held == 0)
      try await installation.drain()
      try await installation.expectEachEnded()
    }
  }

  @Test("has fewer calls in flight where the limit is low, says so, and does every job at its first attempt")
  func fewerCalls() async throws {
    try await Installation.with(jobs: 40, endpoint: ["--delay", "100ms"]) { installation in
      let worker = try installation.worker(
        ["--drain"], concurrency: 64, script: "ulimit -n 44 && exec \"$0\" \"$@\"")
      let ended = await worker.ended()
      #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
      #expect(ended.messages.contains("Fewer calls may be in flight"), "\(ended.messages)")
      #expect(!ended.messages.contains("A call failed"), "\(ended.messages)")
      let inFlight = try installation.endpoint.calls.compactMap { $0["in_flight"] as? Int }
      #expect(inFlight.allSatisfy { $0 <= 4 }, "\(inFlight)")
      #expect(try installation.calls.values.allSatisfy { $0 == 1 })
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded()
    }
  }

  @Test("raises a soft limit that is too low by itself")
  func raisesSoftLimit() async throws {
    try await Installation.with(jobs: 8) { installation in
      let worker = try installation.worker(["--drain"], script: "ulimit -S -n 16 && exec \"$0\" \"$@\"")
      let ended = await worker.ended()
      #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
      #expect(!ended.messages.contains("raise"), "\(ended.messages)")
      try await installation.expectEachEnded()
    }
  }

  @Test("while it runs consumes no attempt, says what to raise, and goes on when there are some again")
  func runningOut() async throws {
    try await Installation.with(jobs: 0) { installation in
      let worker = try installation.worker()
      // Every connection to the database is there before the limit falls.
      try await eventually { worker.messagesSoFar.contains("The worker runs") }
      let first = try await installation.submitFurther(1)
      try await eventually { try await installation.queue.results == 1 }
      try await limit(worker, to: "8:4096")
      let later = try await installation.submitFurther(6)
      try await eventually { worker.messagesSoFar.contains("too many open files") }
      #expect(worker.messagesSoFar.contains("LimitNOFILE"))
      try await limit(worker, to: "4096:4096")
      try await eventually { try await installation.queue.results == 7 }
      worker.send(SIGTERM)
      let ended = await worker.ended()
      #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded(also: first + later)
    }
  }

  private func limit(_ worker: Executable, to limits: String) async throws {
    _ = try await HelperProgram.output(
      "/usr/bin/prlimit", ["--pid", "\(worker.processID)", "--nofile=\(limits)"])
  }
}
