import BenchmarkKit
import Glibc
import Testing

struct MeasuredProcessTests {
  @Test("What a program writes, how it ends and what it uses are told apart")
  func succeeded() async throws {
    let ended = try await MeasuredProcess.run(
      "/bin/sh", ["-c", "echo $WORD; echo no >&2; n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done"],
      environment: ["WORD": "yes"])
    #expect(ended.output == "yes\n")
    #expect(ended.errors == "no\n")
    #expect(ended.usage.seconds > 0)
    // A shell: far below what this process holds.
    #expect(ended.usage.peakMemory > 0)
    #expect(ended.usage.peakMemory < 20_000_000)
  }

  @Test("A program that fails is an error with its last words")
  func failed() async throws {
    let error = await #expect(throws: BenchmarkError.self) {
      try await MeasuredProcess.run("/bin/sh", ["-c", "echo out of paper >&2; exit 3"])
    }
    #expect(error?.description.contains("out of paper") == true)
  }

  @Test("A program that is not there is an error")
  func missing() {
    #expect(throws: BenchmarkError.self) { try MeasuredProcess("/nowhere/at-all", []) }
  }

  @Test("A signal ends a program, and is told")
  func killed() async throws {
    let process = try MeasuredProcess("/bin/sh", ["-c", "echo ready; exec sleep 600"])
    try await process.wait(for: "ready") { output, _ in output == "ready\n" }
    process.send(SIGTERM)
    let ended = await process.ended()
    #expect(ended.wasKilled)
    #expect(ended.status == SIGTERM)
    #expect(process.hasEnded)
  }

  @Test("The environment's PG variables do not reach a program")
  func environment() async throws {
    setenv("PGAPPNAME", "benchmark-tests", 1)
    defer { unsetenv("PGAPPNAME") }
    let ended = try await MeasuredProcess.run("/bin/sh", ["-c", "echo \"[$PGAPPNAME]\""])
    #expect(ended.output == "[]\n")
  }
}
