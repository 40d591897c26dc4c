import TestSupport
import Testing

@Suite(
  "A hot standby",
  .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
struct StandbyReportTests {
  @Test(
    "answers reports without diagnoses, leaves the closing of a month to the primary, and refuses by name what it would have to write"
  )
  func reports() async throws {
    try await FailoverCluster.with(jobs: 3, isSynchronous: false) { failover in
      try await failover.installation.drain()
      try await failover.caughtUp()
      let standby = failover.standby.conninfo(database: FailoverCluster.database, over: .tcp)
      func run(_ words: String...) async throws -> Executable.Ended {
        try await Executable("analysisctl", words, environment: ["ANALYSIS_DATABASE": standby]).ended()
      }
      for kind in ["usage", "summary"] {
        let ended = try await run("report", kind, "--format", "json")
        #expect(ended.code == 0, "\(kind): \(ended.messages)")
      }
      // Who reads these is recorded first, and a standby cannot.
      for kind in ["analyses", "conditions"] {
        let ended = try await run("report", kind, "--format", "json")
        #expect(ended.code == 69 && ended.output == "", "\(kind): \(ended.messages)")
        #expect(ended.messages.contains("target_session_attrs=read-write"), "\(ended.messages)")
      }
      // Long over, and still not closed from here.
      let past = try await run("report", "usage", "--month", "2024-01", "--format", "json")
      #expect(past.code == 0, "\(past.messages)")
      #expect(past.output.contains("draft"), "\(past.output)")
      let months = try await run("month")
      #expect(months.code == 0 && months.output.contains("running"), "\(months.messages)")
      #expect(try await failover.onPrimary("SELECT count(*)::text FROM analysis.statement") == "0")
      for words in [["status"], ["jobs", "list"], ["users", "list"]] {
        let ended = try await Executable(
          "analysisctl", words, environment: ["ANALYSIS_DATABASE": standby]
        ).ended()
        #expect(ended.code == 0, "\(words): \(ended.messages)")
      }
      let refused = try await run("users", "add", "clinic-2", "--plan", "free")
      #expect(refused.code == 69)
      #expect(refused.messages.contains("target_session_attrs=read-write"), "\(refused.messages)")
    }
  }
}
