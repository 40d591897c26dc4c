import PostgreSQL
import QueueTestSupport
import Testing

@Suite("A login may call the functions of its role, and no others")
struct RightsMatrixTests {
  @Test(
    "Each function of the schema that is not its role's refuses a login, whatever it is given",
    arguments: Attacker.unrestricted)
  func functions(by attacker: Attacker) async throws {
    try await AttackedDatabase.with { database in
      // Independent of what the server thinks of rights: each is called.
      let calls = try await database.queue.pool.query(
        """
        SELECT p.proname::text, format('%s analysis.%I(%s)', CASE p.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, p.proname,
          (SELECT string_agg('NULL::' || format_type(t, NULL), ', ' ORDER BY i)
           FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY u(t, i)))
        FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND p.prorettype <> 'trigger'::regtype
          AND NOT 'anyarray'::regtype = ANY (p.proargtypes::oid[])
          AND p.proname <> ALL (coalesce((
            SELECT r.o_functions FROM analysis.role_rights() r WHERE r.o_role = $1), '{}'))
        """, [.text(attacker.role ?? "")]
      ).map { (try $0.string(0), try $0.string(1)) }
      #expect(calls.count > 70)
      try await database.login(as: attacker) { login, _ in
        for (function, sql) in calls {
          let error = await #expect(throws: PostgreSQLError.self, "\(attacker) called \(function)") {
            _ = try await login.query(sql)
          }
          #expect(error?.sqlState == "42501", "\(attacker): \(sql): \(error?.message ?? "")")
        }
      }
    }
  }

  @Test(
    "No login can write a table, and each reads the tables of its role alone",
    arguments: Attacker.unrestricted)
  func relations(by attacker: Attacker) async throws {
    try await AttackedDatabase.with { database in
      let relations = try await database.queue.pool.query(
        """
        SELECT c.relname::text, (SELECT a.attname::text FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attidentity = '' ORDER BY a.attnum LIMIT 1),
          c.relname = ANY (coalesce((
            SELECT array_agg(split_part(t, '(', 1)) FROM analysis.role_rights() r CROSS JOIN LATERAL unnest(r.o_tables) t
            WHERE r.o_role = $1), '{}'))
        FROM pg_class c
        WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
        """, [.text(attacker.role ?? "")]
      ).map { (try $0.string(0), try $0.string(1), try $0.bool(2)) }
      #expect(relations.count > 40)
      try await database.login(as: attacker) { login, _ in
        for (relation, column, isRead) in relations {
          var attempts = [
            "UPDATE analysis.\(relation) SET \(column) = \(column)", "DELETE FROM analysis.\(relation)",
            "TRUNCATE analysis.\(relation)", "INSERT INTO analysis.\(relation) DEFAULT VALUES",
            "DO $$ BEGIN LOCK TABLE analysis.\(relation) IN ROW EXCLUSIVE MODE; END $$",
          ]
          if !isRead { attempts.append("SELECT \(column) FROM analysis.\(relation) LIMIT 0") }
          for sql in attempts {
            let error = await #expect(throws: PostgreSQLError.self, "\(attacker): \(sql)") {
              _ = try await login.query(sql)
            }
            #expect(
              ["42501", "42809", "55000"].contains(error?.sqlState),
              "\(attacker): \(sql): \(error?.message ?? "")")
          }
        }
      }
    }
  }
}
