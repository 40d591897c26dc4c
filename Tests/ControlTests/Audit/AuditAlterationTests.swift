import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("What writes the audit is watched")
struct AuditAlterationTests {
  /// What the owner may do to what writes the audit, and what is found of it.
  static let alterations: [(sql: String, fault: String)] = [
    (
      "CREATE OR REPLACE FUNCTION analysis.audit_hash(p analysis.audit) RETURNS bytea LANGUAGE sql STABLE AS 'SELECT p.hash'",
      "audit_hash"
    ),
    (
      """
      CREATE OR REPLACE FUNCTION analysis.audit_add(p_action text, p_object text, p_detail jsonb DEFAULT NULL, p_reason text DEFAULT NULL)
      RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT'
      """, "audit_add"
    ),
    ("ALTER FUNCTION analysis.audit_add RESET search_path", "audit_add (settings)"),
    ("ALTER FUNCTION analysis.claim SET work_mem = '1GB'", "claim (settings)"),
    ("ALTER FUNCTION analysis.refuse_audit_change SECURITY INVOKER", "refuse_audit_change (rights)"),
    ("ALTER FUNCTION analysis.audit_add OWNER TO pg_monitor", "audit_add (owner pg_monitor)"),
    ("GRANT EXECUTE ON FUNCTION analysis.audit_add TO pg_monitor", "audit_add (open to pg_monitor)"),
    ("GRANT EXECUTE ON FUNCTION analysis.clinics_of TO PUBLIC", "clinics_of (open to PUBLIC)"),
    ("DROP FUNCTION analysis.audit_key", "audit_key"),
    ("ALTER TABLE analysis.audit DISABLE TRIGGER keep", "trigger keep of audit (disabled)"),
    (
      "ALTER TABLE analysis.audit_draft ENABLE REPLICA TRIGGER keep", "trigger keep of audit_draft (disabled)"
    ),
    ("DROP TRIGGER append_only ON analysis.audit", "trigger append_only of audit (missing)"),
    (
      """
      DROP TRIGGER keep ON analysis.audit;
      CREATE TRIGGER keep AFTER DELETE ON analysis.audit FOR EACH ROW EXECUTE FUNCTION analysis.refuse_audit_change()
      """, "trigger keep of audit"
    ),
    (
      """
      CREATE TRIGGER hush BEFORE UPDATE ON analysis.audit_draft
      FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()
      """, "hush of audit_draft (unknown)"
    ),
    ("CREATE RULE hush AS ON INSERT TO analysis.audit DO INSTEAD NOTHING", "hush of audit (unknown)"),
    ("ALTER TABLE analysis.audit ENABLE ROW LEVEL SECURITY", "row level security of audit (unknown)"),
  ]

  @Test("Whatever is altered in what writes the audit is found and named", arguments: alterations)
  func altered(alteration: (sql: String, fault: String)) async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      #expect(try await queue.faults() == [])
      try await queue.execute(alteration.sql)
      #expect(try await queue.faults() == ["-: not this program's: \(alteration.fault)"])
    }
  }

  @Test("A hash function that takes every entry for intact hides nothing")
  func replacedHash() async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      let kept = try #require(try await AuditLog(queue.pool).verify().end)
      try await queue.execute(Self.alterations[0].sql)
      try await queue.tamper("UPDATE analysis.audit SET reason = 'another' WHERE id = 3")
      #expect(
        try await queue.faults(expecting: kept) == [
          "-: not this program's: audit_hash",
          "3: the entry was changed: its hash is not that of what it says",
        ])
    }
  }

  @Test(
    "Who removes entries past the function, and writes the purge itself, is found by an end kept elsewhere")
  func forgedPurge() async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      let kept = try #require(try await AuditLog(queue.pool).verify().end)
      try await queue.tamper(
        """
        UPDATE analysis.audit_head h SET first_id = 4, first_previous = a.previous FROM analysis.audit a WHERE a.id = 4;
        DELETE FROM analysis.audit WHERE id < 4;
        SELECT analysis.audit_add('purge', 'audit', jsonb_build_object(
          'first', 4, 'previous', encode(h.first_previous, 'hex'), 'clock', analysis.audit_time(now()),
          'until', analysis.audit_time(now() - interval '6 years'), 'newest', analysis.audit_time(now() - interval '7 years')))
        FROM analysis.audit_head h
        """)
      #expect(
        try await queue.faults(expecting: kept) == [
          "1: the entries from here to 3 were removed, and were younger than a year"
        ])
      // One that says less is found without.
      try await queue.execute("SELECT analysis.audit_add('purge', 'audit', '{}')")
      #expect(try await queue.faults() == ["8: the purge does not say what it removed"])
    }
  }
}
