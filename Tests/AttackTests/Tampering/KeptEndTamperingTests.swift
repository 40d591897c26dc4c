import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control

@Suite("Whatever the owner does to the audit is found by the ends that were kept")
struct KeptEndTamperingTests {
  /// One way to change what was recorded so that the chain looks whole, and what is found of it. There were seven
  /// entries, and an end was kept at the sixth and at the seventh.
  struct Tampering: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sql: String
    let faults: [String]
  }

  /// Writes the chain anew from an entry on, with every hash right, and the head too. The owner can call the function
  /// that makes the hashes.
  private static func rewritten(from first: Int) -> String {
    """
    DO $$ DECLARE v_last bigint := (SELECT coalesce(max(id), 0) FROM analysis.audit); BEGIN
      FOR i IN \(first) .. v_last LOOP
        UPDATE analysis.audit a SET previous = coalesce(
          (SELECT b.hash FROM analysis.audit b WHERE b.id = i - 1), decode(repeat('00', 32), 'hex'))
        WHERE a.id = i;
        UPDATE analysis.audit a SET hash = analysis.audit_hash(a) WHERE a.id = i;
      END LOOP;
      UPDATE analysis.audit_head h SET id = v_last, hash = coalesce(
        (SELECT a.hash FROM analysis.audit a WHERE a.id = v_last), decode(repeat('00', 32), 'hex'));
    END $$;
    """
  }

  private static let others = [6, 7].map { "\($0): the entry is another than the one that was kept on TIME" }
  private static func isGone(_ id: Int, end: Int) -> String {
    "\(id): the entry was kept on TIME and is not there: the chain ends at \(end)"
  }

  static let tamperings: [Tampering] = [
    Tampering(
      testDescription: "an entry changed",
      sql: "UPDATE analysis.audit SET reason = 'another' WHERE id = 3;" + rewritten(from: 3), faults: others),
    Tampering(
      testDescription: "an entry's role and time changed",
      sql: "UPDATE analysis.audit SET role = 'another', at = at - interval '1 hour' WHERE id = 6;"
        + rewritten(from: 6), faults: others),
    Tampering(
      testDescription: "an entry removed",
      sql: """
        DELETE FROM analysis.audit WHERE id = 3;
        UPDATE analysis.audit SET id = id + 100 WHERE id > 3; UPDATE analysis.audit SET id = id - 101 WHERE id > 100;
        """ + rewritten(from: 3), faults: [others[0], isGone(7, end: 6)]),
    Tampering(
      testDescription: "an entry inserted",
      sql: """
        UPDATE analysis.audit SET id = id + 101 WHERE id > 3; UPDATE analysis.audit SET id = id - 100 WHERE id > 100;
        INSERT INTO analysis.audit (id, at, role, action, object, previous, hash)
        SELECT 4, at, role, action, 'thing:x', hash, hash FROM analysis.audit WHERE id = 3;
        """ + rewritten(from: 4), faults: others),
    Tampering(
      testDescription: "two entries moved",
      sql: """
        UPDATE analysis.audit SET id = 100 WHERE id = 2; UPDATE analysis.audit SET id = 2 WHERE id = 3;
        UPDATE analysis.audit SET id = 3 WHERE id = 100;
        """ + rewritten(from: 2), faults: others),
    Tampering(
      testDescription: "the whole chain written anew",
      sql: "UPDATE analysis.audit SET object = 'thing:0';" + rewritten(from: 1), faults: others),
    Tampering(
      testDescription: "the tail cut off",
      sql: "DELETE FROM analysis.audit WHERE id > 5;" + rewritten(from: 6),
      faults: [isGone(6, end: 5), isGone(7, end: 5)]),
    Tampering(
      testDescription: "the tail cut off and grown again",
      sql: """
        DELETE FROM analysis.audit WHERE id > 5;
        INSERT INTO analysis.audit (id, at, role, action, object, previous, hash)
        SELECT n, at, role, action, 'thing:' || n, hash, hash
        FROM analysis.audit, generate_series(6, 9) n WHERE id = 5;
        """ + rewritten(from: 6), faults: others),
    Tampering(
      testDescription: "everything removed",
      sql: "DELETE FROM analysis.audit;" + rewritten(from: 1), faults: [isGone(6, end: 0), isGone(7, end: 0)]),
    Tampering(
      testDescription: "the head put back",
      sql: "UPDATE analysis.audit_head h SET id = 5, hash = a.hash FROM analysis.audit a WHERE a.id = 5",
      faults: [
        "6: the entry was kept on TIME and is not there: the chain ends at 5",
        "6: the entry was put in: the head ends at 5",
        "7: the entry was kept on TIME and is not there: the chain ends at 5",
        "7: the entry was put in: the head ends at 5",
      ]),
    Tampering(
      testDescription: "the head replaced, with a number of its own",
      sql: """
        DELETE FROM analysis.audit_head;
        INSERT INTO analysis.audit_head (installation, id, hash, first_id, first_previous)
        VALUES ('00000000-0000-4000-8000-000000000000', 0, E'\\\\x00', 1, decode(repeat('00', 32), 'hex'));
        UPDATE analysis.audit SET object = 'thing:0';
        """.replacing("E'\\\\x00'", with: "decode(repeat('00', 32), 'hex')") + rewritten(from: 1),
      faults: [
        "-: ends of installation NUMBER were kept there, the last on TIME: either the number of this one was "
          + "changed, or two share the place",
        "-: no end of this installation was kept there by that user",
      ]),
    Tampering(
      testDescription: "entries removed before their time, with a purge to excuse it",
      sql: """
        UPDATE analysis.audit_head h SET first_id = 4, first_previous = a.previous FROM analysis.audit a WHERE a.id = 4;
        DELETE FROM analysis.audit WHERE id < 4;
        SELECT analysis.audit_add('purge', 'audit', jsonb_build_object(
          'first', 4, 'previous', encode(h.first_previous, 'hex'), 'clock', analysis.audit_time(now()),
          'until', analysis.audit_time(now() - interval '6 years'),
          'newest', analysis.audit_time(now() - interval '7 years')))
        FROM analysis.audit_head h
        """, faults: ["1: the entries from here to 3 were removed, and were younger than a year"]),
    Tampering(
      testDescription: "what writes replaced by what does nothing",
      sql: """
        CREATE OR REPLACE FUNCTION analysis.audit_add(p_action text, p_object text, p_detail jsonb DEFAULT NULL, p_reason text DEFAULT NULL)
        RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT'
        """, faults: ["-: not this program's: audit_add"]),
    Tampering(
      testDescription: "what chains replaced by what does nothing, and the drafts removed",
      sql: """
        CREATE OR REPLACE FUNCTION analysis.chain_audit(p_limit int, p_wait boolean) RETURNS int LANGUAGE sql
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 0';
        SELECT analysis.audit_add('test', 'thing:8'); DELETE FROM analysis.audit_draft
        """, faults: ["-: not this program's: chain_audit"]),
    Tampering(
      testDescription: "a trigger that takes drafts away",
      sql: """
        CREATE TRIGGER hush BEFORE INSERT ON analysis.audit_draft
        FOR EACH ROW EXECUTE FUNCTION analysis.refuse_audit_change()
        """, faults: ["-: not this program's: hush of audit_draft (unknown)"]),
  ]

  @Test("Each tampering is found and named, with the chain whole to look at", arguments: tamperings)
  func found(_ tampering: Tampering) async throws {
    try await withCheckedQueue { queue in
      let kept = try await queue.keepTwoEnds()
      #expect(try await queue.faults(comparedWith: kept) == [])
      try await queue.tamperAsOwner(tampering.sql)
      #expect(try await queue.faults(comparedWith: kept) == tampering.faults.sorted())
    }
  }

  @Test(
    "A chain that goes on after the ends were kept fits them; so does one of which the oldest were purged")
  func whole() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("400 days", 1...3)
      let old = try await queue.end(agedDays: 399)
      try await queue.execute("UPDATE analysis.setting SET value = '1 year' WHERE name = 'keep_audit'")
      try await queue.record("20 days", 4...6)
      let young = try await queue.end(agedDays: 19)
      let kept = [old, young]
      #expect(try await queue.faults(comparedWith: kept) == [])
      _ = try await Purger(queue.pool, Purger.Settings()).run(isStopped: { false })
      #expect(try await queue.number("SELECT first_id FROM analysis.audit_head") > 3)
      #expect(try await queue.faults(comparedWith: kept) == [])
      let verdict = try await AuditLog(queue.pool).verify(comparedWith: KeptEnds(kept.map(\.line)))
      #expect(verdict.kept?.count == 2 && verdict.kept?.last == young)
    }
  }

  @Test("What came after an end that was kept within the year is missed, however old what it names is")
  func removedAfterAnEnd() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("400 days", 1...3)
      let kept = try await queue.end(agedDays: 30)
      try await queue.record("20 days", 4...6)
      try await queue.tamperAsOwner(
        """
        UPDATE analysis.audit_head h SET first_id = 6, first_previous = a.previous FROM analysis.audit a WHERE a.id = 6;
        DELETE FROM analysis.audit WHERE id < 6;
        SELECT analysis.audit_add('purge', 'audit', jsonb_build_object(
          'first', 6, 'previous', encode(h.first_previous, 'hex'), 'clock', analysis.audit_time(now()),
          'until', analysis.audit_time(now() - interval '366 days'),
          'newest', analysis.audit_time(now() - interval '400 days')))
        FROM analysis.audit_head h
        """)
      #expect(try await queue.faults() == [])
      #expect(
        try await queue.faults(comparedWith: [kept])
          == ["4: the entries from here to 5 were removed, and were younger than a year"])
    }
  }

  @Test("Where no end was kept, that is a fault and not silence")
  func none() async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      #expect(
        try await queue.faults(comparedWith: [])
          == ["-: no end of this installation was kept there by that user"])
    }
  }
}

extension QueueFixture {
  /// Records seven entries; the ends at the sixth and at the seventh.
  fileprivate func keepTwoEnds() async throws -> [KeptEnd] {
    try await recordSix()
    let sixth = try await AuditLog(pool).end()
    try await record("thing:7")
    try await AuditLog(pool).chain()
    return [sixth, try await AuditLog(pool).end()]
  }

  /// The end as it would have been kept so long ago.
  fileprivate func end(agedDays days: Int64) async throws -> KeptEnd {
    let end = try await AuditLog(pool).end()
    return KeptEnd(at: end.at - days * 86_400, installation: end.installation, mark: end.mark)
  }

  /// What does not fit the chain or the ends, with no time and no number of an installation, by its text.
  fileprivate func faults(comparedWith kept: [KeptEnd]) async throws -> [String] {
    let ends = KeptEnds(kept.map(\.line))
    return try await AuditLog(pool).verify(comparedWith: ends).faults.map { fault in
      "\(fault.id.map(String.init) ?? "-"): \(fault.message)"
        .replacing(/on [0-9-]+T[0-9:]+Z/, with: "on TIME")
        .replacing(/installation [0-9a-f-]{36}/, with: "installation NUMBER")
    }.sorted()
  }

  /// Does what the schema's owner can: turn the triggers off, and on again.
  fileprivate func tamperAsOwner(_ sql: String) async throws {
    let tables = ["audit", "audit_draft", "audit_head"]
    func triggers(_ state: String) -> String {
      tables.map { "ALTER TABLE analysis.\($0) \(state) TRIGGER USER;" }.joined(separator: " ")
    }
    try await pool.withConnection { connection in
      try await connection.execute(script: "SET ROLE analysis_owner; " + triggers("DISABLE"))
      try await connection.execute(script: sql)
      try await connection.execute(script: triggers("ENABLE") + " RESET ROLE")
    }
  }
}
