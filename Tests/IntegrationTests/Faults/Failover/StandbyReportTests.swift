import Foundation
import Glibc
import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@testable import Control

@Suite(
  "A hot standby", .onOwnThread,
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

  /// Both servers, of which a standby is preferred.
  private static func preferringStandby(_ failover: FailoverCluster) -> [String: String] {
    let both = failover.installation.queue.environment["ANALYSIS_DATABASE"] ?? ""
    return ["ANALYSIS_DATABASE": both.replacing("read-write", with: "prefer-standby")]
  }

  @Test(
    "that is preferred answers what only reads, says how old it is, and leaves to the primary what is recorded or changed"
  )
  func preferred() async throws {
    try await FailoverCluster.with(jobs: 3, isSynchronous: false) { failover in
      try await failover.installation.drain()
      try await failover.caughtUp()
      let environment = Self.preferringStandby(failover)
      func run(_ words: String...) async throws -> Executable.Ended {
        try await Executable("analysisctl", words, environment: environment).ended()
      }
      for words in [["report", "usage"], ["report", "summary"]] {
        let ended = try await Executable("analysisctl", words, environment: environment).ended()
        #expect(ended.code == 0 && ended.messages.contains("Read from a standby, whose last change is of"))
      }
      let analyses = try await run("report", "analyses", "--format", "json")
      #expect(analyses.code == 0 && !analyses.messages.contains("standby"), "\(analyses.messages)")
      let added = try await run("users", "add", "clinic-2", "--plan", "free")
      #expect(added.code == 0, "\(added.messages)")
      #expect(try await failover.onPrimary("SELECT count(*)::text FROM analysis.account") == "2")

      let serving = try Executable(
        "analysisctl", ["serve", "--listen", "127.0.0.1:0"], environment: environment)
      let port = try await ServeProcessTests.port(serving)
      let overview = try RawClient(port: port).request("GET", "/")
      #expect(overview.status == 200 && overview.text.contains(", from a standby, whose last change is of"))
      // Who reads it is recorded.
      let recorded =
        "SELECT ((SELECT count(*) FROM analysis.audit_entry) + count(*))::int FROM analysis.audit_draft"
      let before = try await failover.installation.queue.number(recorded)
      let job = try RawClient(port: port).request("GET", "/jobs/\(failover.installation.jobs[0])")
      #expect(job.status == 200, "\(job.text)")
      #expect(try await failover.installation.queue.number(recorded) > before)
      serving.send(SIGTERM)
      #expect(await serving.ended().code == 0)
    }
  }

  @Test("that breaks a report off has it go on from the primary, where it was")
  func brokenOff() async throws {
    try await FailoverCluster.with(isSynchronous: false) { failover in
      try await failover.standby.set(["max_standby_streaming_delay": "0"])
      // More than stands between the server and who reads.
      _ = try await failover.onPrimary(
        """
        WITH made AS (
          INSERT INTO analysis.account (shard, user_ref, zone, key_salt)
          SELECT 0, 'user-' || n, 'UTC', sha256(n::text::bytea) FROM generate_series(1, 150000) n RETURNING shard, user_id),
        planned AS (
          INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
          SELECT shard, user_id, '2020-01-01Z', 1 FROM made RETURNING user_id)
        SELECT count(*)::text FROM planned
        """)
      try await failover.caughtUp()
      let folder = try TemporaryFolder()
      try #require(mkfifo(folder.path("go"), 0o600) == 0)
      let words = ["report", "usage", "--format", "csv"]
      let report = try Executable(
        "analysisctl", words,
        environment: Self.preferringStandby(failover).merging(["GO": folder.path("go")]) { $1 },
        script: #"set -o pipefail; "$0" "$@" | { read -r _ < "$GO"; cat; }"#)
      try await eventually {
        try await failover.onStandby(
          "SELECT count(*)::text FROM pg_stat_activity WHERE query LIKE '%usage_lines%' AND wait_event = 'ClientWrite'"
        ) == "1"
      }
      // The standby has to go on with this, which the report stands in the way of.
      try await failover.installation.queue.execute(
        "DO $$ BEGIN LOCK TABLE analysis.account IN ACCESS EXCLUSIVE MODE; PERFORM txid_current(); END $$")
      // It waits for the report, or has broken it off already.
      let position = try await failover.onPrimary("SELECT pg_current_wal_flush_lsn()::text")
      try await eventually {
        try await failover.onStandby(
          """
          SELECT (pg_last_wal_replay_lsn() >= '\(position)' OR EXISTS (
            SELECT FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event_type = 'Lock'))::text
          """
        ) == "true"
      }
      _ = try await HelperProgram.run("/bin/bash", ["-c", "echo go > \(folder.path("go"))"])
      let ended = await report.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(!ended.messages.contains("standby"), "\(ended.messages)")
      let whole = try await Executable(
        "analysisctl", words, environment: failover.installation.queue.environment
      ).ended()
      #expect(whole.code == 0 && whole.output == ended.output)
      #expect(ended.output.split(separator: "\r\n").count == 150_002)
    }
  }

  @Test("whose rows came to another text when they were read again is refused, not patched together")
  func changed() throws {
    var passed = PassedReport()
    func chunk(_ text: String) -> [UInt8] { Array(text.utf8) }
    #expect(try passed.new(chunk("one\n")) == chunk("one\n"))
    #expect(try passed.new(chunk("two\n")) == chunk("two\n"))
    passed.beginAnew()
    #expect(try passed.new(chunk("on")).isEmpty)
    #expect(try passed.new(chunk("e\ntwo\nthree\n")) == chunk("three\n"))
    passed.beginAnew()
    #expect(throws: ReportsError.self) { try passed.new(chunk("one\nTWO\nthree\n")) }
  }
}
