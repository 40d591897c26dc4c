import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("A worker whose own machine has nowhere to write")
struct LocalDiskTests {
  @Test(
    "does every job all the same",
    arguments: [
      (name: "standard output and error on a full disk", script: "exec \"$0\" \"$@\" >/dev/full 2>/dev/full"),
      (name: "standard output and error closed", script: "exec \"$0\" \"$@\" <&- >&- 2>&-"),
      (name: "no folder for temporary files", script: "TMPDIR=/nonexistent exec \"$0\" \"$@\""),
    ])
  func carriesOn(name: String, script: String) async throws {
    try await expectAllDone(script)
  }

  @Test("never takes a socket for its standard output or error, though these were closed")
  func closed() async throws {
    try await Installation.with(jobs: 0) { installation in
      let worker = try installation.worker(script: "exec \"$0\" \"$@\" <&- >&- 2>&-")
      try await eventually {
        try await installation.queue.number("SELECT count(*)::int FROM analysis.worker") == 1
      }
      for descriptor in 0...2 {
        let file = try FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/\(worker.processID)/fd/\(descriptor)")
        #expect(file == "/dev/null")
      }
      worker.send(SIGTERM)
      #expect(await worker.ended().code == 0)
    }
  }

  @Test("does every job where the whole file system is read-only", .needsMounting)
  func readOnly() async throws {
    try await expectAllDone(MountNamespace.script("mount -o remount,bind,ro / && ! touch /tmp/x 2>/dev/null"))
  }

  private func expectAllDone(_ script: String) async throws {
    try await Installation.with(jobs: 20) { installation in
      let worker = try installation.worker(["--drain", "--log-level", "trace"], script: script)
      let ended = await worker.ended()
      #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
      #expect(try installation.calls.values.allSatisfy { $0 == 1 })
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded()
    }
  }
}
