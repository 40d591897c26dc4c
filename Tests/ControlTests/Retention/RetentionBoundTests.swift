import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("Things are kept for as long as the settings say, to the second")
struct RetentionBoundTests {
  /// How a job ends.
  enum End: String, CaseIterable, Sendable {
    case result, death, cancellation

    func bring(_ queue: QueueFixture) async throws -> Int64 {
      switch self {
      case .result:
        let job = try await queue.create([Ask("user", key: "key")])[0]
        _ = try await queue.complete(try await queue.claim())
        return job
      case .death: return try await queue.deadJob("user")
      case .cancellation:
        let job = try await queue.create([Ask("user", key: "key")])[0]
        _ = try await queue.cancel([job])
        return job
      }
    }
  }

  @Test(
    "An image goes so long after its job's result, death or cancellation, and its job's facts stay",
    arguments: End.allCases)
  func images(end: End) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await end.bring(queue)
      let ended = try await queue.wholeSecond()
      try await queue.setEnds(ended)
      let due = try await queue.moment("30 days", after: ended)
      #expect(try await queue.purge(at: due - 1).lines == [])
      #expect(try await queue.count("image") == 1)
      let report = try await queue.purge(at: due)
      #expect(report.words == ["images 1"] && report.lines[0].bytes == 5)
      #expect(try await queue.count("image") == 0)
      #expect(try await queue.count("job") == 1)
      #expect(try await queue.purge(at: due).lines == [])
    }
  }

  @Test(
    "Results and cancellations go with their jobs, and a repeated submit is still answered",
    arguments: [End.result, .cancellation])
  func results(end: End) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await end.bring(queue)
      let ended = try await queue.wholeSecond()
      try await queue.setEnds(ended)
      try await queue.execute("UPDATE analysis.setting SET value = '7 days' WHERE name = 'keep_images'")
      let due = try await queue.moment("24 months", after: ended)
      #expect(try await queue.purge(at: due - 1).words == ["images 1"])
      let repeated = try await queue.submit([Ask("user", key: "key")])
      #expect(repeated.map(\.outcome) == ["duplicate"] && repeated[0].job == job)
      #expect(try await queue.purge(at: due).words == ["results 1"])
      #expect(try await queue.count("job") == 0)
      #expect(try await queue.count("result") == 0)
      let again = try await queue.submit([Ask("user", key: "key")])
      #expect(again.map(\.outcome) == ["duplicate"] && again[0].job == job)
      #expect(try await queue.submit([Ask("user", image: "another", key: "key")])[0].reason == "key_conflict")
    }
  }

  @Test("Jobs that died go with their attempts")
  func dead() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.deadJob("user")
      let ended = try await queue.wholeSecond()
      try await queue.setEnds(ended)
      try await queue.execute("UPDATE analysis.setting SET value = '' WHERE name = 'keep_images'")
      let due = try await queue.moment("24 months", after: ended)
      #expect(try await queue.purge(at: due - 1).words == [])
      #expect(try await queue.purge(at: due).words == ["dead 1"])
      for table in ["dead", "job", "attempt_error"] { #expect(try await queue.count(table) == 0) }
      // Kept for ever, and of no job any more.
      #expect(try await queue.count("image") == 1)
    }
  }

  @Test("The audit's oldest entries go, and the chain stays whole")
  func audit() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("7 years", 1...5)
      let kept = try #require(try await AuditLog(queue.pool).verify().end)
      // So that no month goes with its own entry beside.
      try await queue.execute("UPDATE analysis.setting SET value = '' WHERE name = 'keep_results'")
      let dry = try await queue.purge(dry: true)
      let report = try await queue.purge()
      #expect(report.words == ["audit 5"] && report == dry)
      #expect(try await queue.faults() == [])
      let entries = try await queue.entries()
      #expect(entries[0].id == 6 && entries[0].action == "set_setting")
      #expect(entries.dropFirst().allSatisfy { $0.action == "purge" && $0.object == "audit" })
      let verdict = try await AuditLog(queue.pool).verify(expecting: kept)
      #expect(verdict.first == 6 && verdict.faults == [])
      try await queue.record("thing:6")
      #expect(try await queue.faults() == [])
    }
  }

  @Test("Only the oldest of the audit go, as far as all before them are past their time")
  func auditPart() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("7 years", 1...2)
      try await queue.record("1 day", 3...3)
      try await queue.record("7 years", 4...4)
      #expect(try await queue.faults() == [])
      #expect(try await queue.purge().words == ["audit 2"])
      #expect(try await queue.entries().map(\.id) == [3, 4, 5])
      #expect(try await queue.faults() == [])
    }
  }

  @Test("Counters are kept for ever unless told otherwise, and closed statements in any case")
  func usage() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await End.result.bring(queue)
      _ = try await queue.applyRefunds()
      let ended = try await queue.wholeSecond()
      try await queue.setEnds(ended)
      let after = try await queue.moment("26 months", after: ended)
      #expect(try await queue.purge(at: after).words == ["images 1", "results 1 whole"])
      let lines = "SELECT t::text FROM analysis.statement_line t WHERE t.used > 0"
      let statement = try await queue.texts(lines)
      #expect(statement.count == 1)
      #expect(try await queue.count("usage") == 1)
      try await queue.execute("UPDATE analysis.setting SET value = '5 years' WHERE name = 'keep_usage'")
      #expect(try await queue.purge(at: after).lines == [])
      let end = try await queue.pool.query(
        "SELECT extract(epoch FROM analysis.period_start((period + 1)::smallint, 'Etc/GMT+12'))::float8 FROM analysis.usage"
      ).single().double(0)
      let due = try await queue.moment("5 years", after: end)
      #expect(try await queue.purge(at: due - 1).words.filter { $0.hasPrefix("usage") } == [])
      #expect(try await queue.purge(at: due).words.filter { $0.hasPrefix("usage") } == ["usage 1"])
      #expect(try await queue.count("usage") == 0)
      #expect(try await queue.texts(lines) == statement)
    }
  }

  @Test("No entry of the last year goes, whatever moment the owner says that it is, and whatever the setting")
  func auditOfTheYear() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("364 days", 1...3)
      let kept = try #require(try await AuditLog(queue.pool).verify().end)
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.execute("UPDATE analysis.setting SET value = '364 days' WHERE name = 'keep_audit'")
      }
      #expect(error?.sqlState == "22023")
      try await queue.execute("UPDATE analysis.setting SET value = '1 year' WHERE name = 'keep_audit'")
      let gone = try await queue.number(
        "SELECT count(*) FROM analysis.purge_audit(100, now() + interval '100 years', false, 1000)")
      #expect(gone == 0)
      // The fourth is of the setting.
      #expect(try await queue.entries().map(\.id) == [1, 2, 3, 4])
      #expect(try await queue.faults(expecting: kept) == [])
    }
  }

  @Test("A purge of the audit says what the clock was, how far it went, and what was the newest that went")
  func auditPurgeEntry() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("7 years", 1...2)
      try await queue.record("0 days", 3...3)
      _ = try await queue.purge()
      let whole = try await queue.texts(
        """
        SELECT ((detail ->> 'clock')::timestamptz BETWEEN at - interval '1 minute' AND at
          AND (detail ->> 'until')::timestamptz BETWEEN at - interval '6 years 2 days' AND at - interval '6 years'
          AND (detail ->> 'newest')::timestamptz < at - interval '6 years 11 months')::text
        FROM analysis.audit_entry WHERE action = 'purge' AND object = 'audit'
        """)
      #expect(whole == ["true"])
      #expect(try await queue.faults() == [])
    }
  }

  @Test(
    "Wrong times are refused when they are set",
    arguments: ["0", "59 minutes", "-1 day", "soon", "101 years"])
  func settings(value: String) async throws {
    try await withCheckedQueue { queue in
      for name in ["keep_images", "keep_results", "keep_dead", "keep_audit", "keep_usage"] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await queue.execute("UPDATE analysis.setting SET value = '\(value)' WHERE name = '\(name)'")
        }
        #expect(error?.isDataError == true)
        let least = name == "keep_audit" ? "366 days" : "36 hours"
        try await queue.execute("UPDATE analysis.setting SET value = '\(least)' WHERE name = '\(name)'")
      }
    }
  }

  @Test("Without a time everything is kept for ever")
  func forever() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await End.result.bring(queue)
      _ = try await queue.deadJob("user", image: "other")
      try await queue.record("thing:1")
      try await queue.execute("UPDATE analysis.setting SET value = '' WHERE name LIKE 'keep_%'")
      let before = try await queue.everything()
      let later = try await queue.moment("90 years", after: try await queue.now())
      #expect(try await queue.purge(at: later, closing: false).lines == [])
      #expect(try await queue.everything() == before)
    }
  }
}
