import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("doctor sees of the schema")
struct DoctorSchemaTests {
  @Test("that it is whole and this program's")
  func whole() async throws {
    try await withQueue { (queue) async throws in
      let (found, _) = try await queue.control.doctor()
      #expect(found.state("schema.version") == "ok" && found.state("schema.functions") == "ok")
      #expect(found.state("partitions") == "ok" && found.state("zones") == "ok")
      #expect(found.state("months") == "ok")
    }
  }

  @Test("months that could be closed and are not, with the command that closes them, as every login")
  func months() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await queue.execute(
        "INSERT INTO analysis.usage (shard, user_id, period, used) SELECT shard, user_id, 24300, 1 FROM analysis.account"
      )
      let found = try await queue.control.doctor().found.of("months")
      #expect(found.map(\.state) == ["warning"])
      #expect(found.map { $0.seen.contains("months could be closed, 2025-01 for ") } == [true])
      #expect(found.map { $0.advice?.contains("analysisctl month close --due") } == [true])
      for role in ["worker", "submitter", "administrator", "operator"] {
        let seen = try await queue.direct(as: role).control.doctor().found.of("months")
        #expect(seen == found, "\(role)")
      }
    }
  }

  @Test("that there is none: wrong, and nothing else is said of the queue")
  func missing() async throws {
    try await withQueue(from: nil) { (queue) async throws in
      let (found, code) = try await queue.control.doctor()
      #expect(code == .jobFailed && found.databaseReached)
      #expect(found.of("schema.version").map(\.advice) == ["Run analysisctl migrate."])
      #expect(found.state("queue") == "skipped" && found.of("partitions").isEmpty)
    }
  }

  @Test("that it is a part of the baseline, or from before version 1.0, neither of which works")
  func unreleased() async throws {
    for change in [
      "DELETE FROM analysis.schema_migration WHERE number >= 9",
      "UPDATE analysis.schema_migration SET checksum = 'x' WHERE number = 8",
    ] {
      try await withQueue { (queue) async throws in
        try await queue.execute(change)
        #expect(try await queue.control.doctor().found.state("schema.version") == "wrong")
      }
    }
  }

  @Test("that it is newer by one, which works, or by more, which does not")
  func newer() async throws {
    try await withQueue { (queue) async throws in
      for (count, state) in [(1, "warning"), (2, "wrong")] {
        try await queue.execute(
          """
          INSERT INTO analysis.schema_migration (number, name, checksum)
          VALUES (\(Migrator.version + count), 'x', 'x')
          """)
        #expect(try await queue.control.doctor().found.state("schema.version") == state)
      }
    }
  }

  @Test("functions that another version applied, and functions that somebody changed or dropped by hand")
  func functions() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        """
        CREATE OR REPLACE FUNCTION analysis.period_text(p_period smallint) RETURNS text
        LANGUAGE sql IMMUTABLE AS $$ SELECT 'never' $$;
        DROP FUNCTION analysis.retire
        """)
      let altered = try await queue.control.doctor().found.of("schema.functions")
      #expect(altered.map(\.state) == ["wrong"])
      #expect(altered.map(\.seen) == ["somebody changed or dropped by hand: period_text, retire"])
      try await queue.execute("DELETE FROM analysis.schema_function")
      _ = await queue.control("migrate")
      #expect(try await queue.control.doctor().found.state("schema.functions") == "ok")

      try await queue.execute(
        "UPDATE analysis.schema_function SET checksum = 'x' WHERE name = '50_queue/claim'")
      let drifted = try await queue.control.doctor().found.of("schema.functions")
      #expect(drifted.map(\.state) == ["warning"] && drifted[0].seen.hasSuffix(": 50_queue/claim"))
    }
  }

  @Test(
    "triggers, settings, owners and rights that somebody changed, and entries of the audit that are left over"
  )
  func altered() async throws {
    try await withQueue { (queue) async throws in
      #expect(try await queue.control.doctor().found.state("audit.drafts") == "ok")
      try await queue.execute(
        """
        INSERT INTO analysis.audit_draft (at, role, action, object) VALUES (now() - interval '5 minutes', 'x', 'test', 'thing:1');
        ALTER TABLE analysis.audit DISABLE TRIGGER keep;
        ALTER FUNCTION analysis.claim SET work_mem = '1GB';
        ALTER FUNCTION analysis.retire OWNER TO pg_monitor;
        GRANT EXECUTE ON FUNCTION analysis.record_report TO PUBLIC
        """)
      let found = try await queue.control.doctor().found
      #expect(found.state("audit.drafts") == "wrong")
      #expect(
        found.of("schema.functions").map(\.seen) == [
          "somebody changed or dropped by hand: claim (settings), record_report (open to PUBLIC), "
            + "retire (owner pg_monitor), trigger keep of audit (disabled)"
        ])
    }
  }

  @Test(
    "who holds the end of the audit's chain, where entries have not been chained for longer than a minute")
  func heldChain() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        "INSERT INTO analysis.audit_draft (at, role, action, object) VALUES (now() - interval '5 days', 'x', 'test', 'thing:1')"
      )
      try await withLoginRole(on: queue.pool, in: ["analysis_worker"]) { (login) async throws in
        let held = try await queue.direct().database.login(login).connect(on: queue.loop)
        try await held.execute(script: "BEGIN; SELECT analysis.chain_audit(1, false)")
        // The server ends one that is idle after five seconds.
        try await LockHolder.active.stays(held, in: queue) {
          let finding = try await queue.control.doctor().found.of("audit.drafts")[0]
          #expect(finding.state == "wrong")
          #expect(finding.seen.hasPrefix("1 entries are not chained, the oldest for 5 d:"), "\(finding.seen)")
          #expect(finding.seen.contains("login \(login) (process \(held.backendPID), "), "\(finding.seen)")
        }
        await held.close()
      }
    }
  }

  @Test("months without partitions: the next is wrong, a later one is a warning")
  func partitions() async throws {
    try await withQueue { (queue) async throws in
      let month = "(SELECT analysis.period_of(now(), 'UTC') + %)"
      func forget(_ ahead: Int) async throws {
        try await queue.execute(
          "DELETE FROM analysis.partition_made WHERE period = \(month.replacing("%", with: "\(ahead)"))")
      }
      try await forget(3)
      #expect(try await queue.control.doctor().found.state("partitions") == "warning")
      try await forget(1)
      #expect(try await queue.control.doctor().found.state("partitions") == "wrong")
    }
    try await withQueue { (queue) async throws in
      let label = try await queue.number("SELECT analysis.period_of(now(), 'UTC')::int")
      try await queue.execute("DROP TABLE analysis.result_p\(label)")
      #expect(try await queue.control.doctor().found.state("partitions") == "wrong")
    }
  }

  @Test("a zone that the server does not know, of a user or the installation")
  func zones() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await queue.execute("UPDATE analysis.account SET zone = 'Mars/Olympus'")
      let users = try await queue.control.doctor().found.of("zones.users")
      #expect(users.map(\.state) == ["wrong"] && users[0].seen.contains("Mars/Olympus of user u1"))
      try await queue.execute(
        """
        ALTER TABLE analysis.setting DISABLE TRIGGER check_setting;
        UPDATE analysis.setting SET value = 'Mars/Olympus' WHERE name = 'zone'
        """)
      #expect(try await queue.control.doctor().found.state("zones") == "wrong")
    }
  }

  @Test("counters that do not agree with the jobs and jobs that are lost, only when asked to look deep")
  func counters() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      try files.write(TinyPicture.png(), to: "p.png")
      #expect(await queue.control("submit", "--user", "u1", "--type", "ear", files.path).code == .done)
      #expect(try await queue.control.doctor("--deep").found.state("counters") == "ok")
      try await queue.execute("UPDATE analysis.usage SET used = used + 1")
      #expect(try await queue.control.doctor().found.of("counters").isEmpty)
      let (found, code) = try await queue.control.doctor("--deep")
      #expect(found.state("counters") == "wrong" && code == .jobFailed)
      #expect(found.state("counters.lost") == "ok")
      try await queue.execute("DELETE FROM analysis.ready")
      #expect(try await queue.control.doctor("--deep").found.state("counters.lost") == "wrong")
    }
  }
}
