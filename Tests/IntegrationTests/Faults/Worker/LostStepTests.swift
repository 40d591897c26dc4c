import TestSupport

#if DEBUG
  import Testing
  @testable import Worker

  @Suite("A worker one of whose steps fails")
  struct LostStepTests {
    /// Those at which the database can seem to be away; a hand-back has tests of its own.
    private static let steps = Failpoint.allCases.filter {
      $0.allows(.error) && ![.beforeRelease, .releaseAnswered].contains($0)
    }

    @Test(
      "or is done without an answer that it hears of: it repeats it, and nothing is lost or doubled",
      arguments: steps)
    func repeated(step: Failpoint) async throws {
      try await Installation.with(jobs: 40) { installation in
        let name = step.rawValue
        let worker = try installation.worker(
          ["--drain"], failpoints: "\(name)=error@1,\(name)=error@2,\(name)=error@4")
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        #expect(ended.messages.contains("A failpoint is reached"))
        try await installation.expectNoAttemptConsumed()
        // No call was made in vain, not even of those whose claim was lost.
        #expect(try installation.calls.values.allSatisfy { $0 == 1 })
        try await installation.expectEachEnded()
      }
    }

    @Test("Failpoints that are set are told at the start; one that does not exist ends the worker with 64")
    func told() async throws {
      let address = ["--endpoint", "http://127.0.0.1:9"]
      let misspelt = try Executable(
        "analysis-worker", address, environment: ["ANALYSIS_FAILPOINTS": "after-lunch=kill"])
      let ended = await misspelt.ended()
      #expect(ended.code == 64)
      #expect(ended.messages.contains("There is no failpoint 'after-lunch'"), "\(ended.messages)")

      let set = try Executable(
        "analysis-worker", address,
        environment: ["ANALYSIS_DATABASE": "host=/nonexistent", "ANALYSIS_FAILPOINTS": "before-claim=kill"])
      try await eventually { set.messagesSoFar.contains("Failpoints are set") }
      set.send(15)
      #expect(await set.ended().code == 0)
    }
  }
#endif
