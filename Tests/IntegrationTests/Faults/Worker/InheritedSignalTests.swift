import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("A worker whose caller ignores the ends of its children")
struct InheritedSignalTests {
  /// The bit of SIGCHLD in the masks that /proc shows.
  private static let endOfChild = UInt64(1) << (SIGCHLD - 1)

  private func ignored(_ process: Int32) throws -> UInt64 {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let mask = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
    return try #require(mask.flatMap { UInt64($0.dropFirst(8), radix: 16) })
  }

  @Test("does not: how a decoder ended is known, and no other process has its number meanwhile")
  func keepsEndedChildren() async throws {
    try await Installation.with(jobs: 0) { installation in
      let worker = try installation.worker(
        script: "trap '' USR1; exec env --ignore-signal=CHLD \"$0\" \"$@\"")
      try await eventually { worker.messagesSoFar.contains("The worker runs") }
      let ignored = try ignored(worker.processID)
      // That it inherits what is ignored is seen by a signal that it leaves alone.
      #expect(ignored & UInt64(1) << (SIGUSR1 - 1) != 0)
      #expect(ignored & Self.endOfChild == 0)
      worker.send(SIGTERM)
      #expect(await worker.ended().code == 0)
    }
  }
}
