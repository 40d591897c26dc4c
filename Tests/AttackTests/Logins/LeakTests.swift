import PostgreSQL
import QueueTestSupport
import Synchronization
import Testing

@Suite("What a role reads lets nothing out that it may not see")
struct LeakTests {
  /// Lends what is attacked, and a login with a role.
  private func with(
    _ role: String, restricted: Bool = true,
    _ body: (_ queue: QueueFixture, _ login: ConnectionPool, _ said: Said) async throws -> Void
  ) async throws {
    try await AttackedDatabase.with { database in
      let said = Said()
      try await database.login(
        "north", role: role, isRestricted: restricted, onNotice: { said.add($0) }
      ) { login, _ in try await body(database.queue, login, said) }
    }
  }

  /// What functions of a reader's own were shown.
  private final class Said: Sendable {
    private let words = Mutex<[String]>([])

    func add(_ word: String) { words.withLock { $0.append(word) } }

    var all: [String] { words.withLock { $0 } }
  }

  static let roles = [
    "worker", "submitter", "reporter", "clinician", "reviewer", "operator", "administrator", "retention",
    "privacy",
    "auditor", "gateway",
  ]

  /// What a login may read, by the catalogue: relations with the columns, and functions with an argument each.
  private static let granted = """
    SELECT format('analysis.%I t', c.relname), format('ROW(%s)::text', string_agg('t.' || quote_ident(a.attname), ', '))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
      AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    GROUP BY c.relname
    UNION ALL
    SELECT format('analysis.%I(%s) t', p.proname, (
        SELECT string_agg(CASE
          WHEN n.name LIKE 'p_shard%' THEN '0::smallint'
          WHEN n.name = 'p_period' THEN '(SELECT analysis.period_of(now(), ''UTC''))'
          WHEN n.name IN ('p_user', 'p_reference') THEN '''sue-south'''
          WHEN n.name IN ('p_user_id', 'p_job', 'p_last') THEN '2::bigint'
          WHEN n.name LIKE '%jobs' THEN '(SELECT array_agg(i) FROM generate_series(1, 500::bigint) i)'
          WHEN n.name IN ('p_after', 'p_first') THEN '0::bigint'
          WHEN n.name IN ('p_limit', 'p_count') THEN '100::int'
          WHEN n.name IN ('p_since') THEN '''-infinity''::timestamptz'
          ELSE 'NULL::' || format_type(n.type, NULL) END, ', ' ORDER BY n.place)
        FROM unnest(p.proargtypes::oid[], p.proargnames[1:p.pronargs]) WITH ORDINALITY n(type, name, place))),
      't::text'
    FROM pg_proc p
    WHERE p.pronamespace = 'analysis'::regnamespace AND p.prokind = 'f' AND has_function_privilege(p.oid, 'EXECUTE')
      AND p.prorettype <> 'void'::regtype AND p.prorettype <> 'trigger'::regtype
    """

  @Test(
    "A cheap function of the reader's own is shown no picture, result or failure, and nobody of another clinic",
    arguments: roles)
  func leaking(role: String) async throws {
    try await with(role) { (queue, login, said) async throws in
      try await login.execute(
        script: """
          CREATE FUNCTION pg_temp.leak(p_words text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
          $$ BEGIN RAISE NOTICE '%', p_words; RETURN true; END $$
          """)
      let failed = try await queue.numbers(
        "SELECT d.job_id FROM analysis.dead d WHERE d.message = '\(AttackedDatabase.mark)'")[0]
      let readable = try await login.query(Self.granted.replacing("2::bigint", with: "\(failed)::bigint"))
        .map { (try $0.string(0), try $0.string(1)) }
      #expect(!readable.isEmpty)
      var answered = 0
      for (source, row) in readable {
        for condition in ["pg_temp.leak(\(row))", "lo_from_bytea(0, convert_to(\(row), 'UTF8')) > 0"] {
          do {
            answered += 1
            // Kept where it succeeds, so that the owner finds what the server's own function was given.
            _ = try await login.query("SELECT count(*) FROM \(source) WHERE \(condition)")
          } catch let error as PostgreSQLError {
            #expect(error.sqlState != nil, "\(error)")
            answered -= 1
          }
        }
      }
      #expect(answered > 0)
      let kept = try await queue.texts(
        "SELECT convert_from(lo_get(m.oid), 'UTF8') FROM pg_largeobject_metadata m")
      let south = try await queue.numbers(
        "SELECT user_id FROM analysis.account WHERE user_ref = 'sue-south'")[0]
      let shown = (said.all + kept).filter { words in
        words.contains(AttackedDatabase.mark) || words.contains("sue-south")
      }
      #expect(shown == [], "user \(south)")
      try await queue.execute("SELECT lo_unlink(m.oid) FROM pg_largeobject_metadata m")
    }
  }

  @Test(
    "No login is sent the plan, or anything else, of a statement within a function that has the owner's rights",
    arguments: roles)
  func plansSent(role: String) async throws {
    try await with(role) { (_, login, said) async throws in
      let calls = try await login.query(
        Self.granted.replacing("AND p.prokind = 'f'", with: "AND p.prosecdef AND p.prokind = 'f'")
      ).map { try $0.string(0) }.filter { $0.contains("(") }
      #expect(!calls.isEmpty)
      try await login.execute(
        script: "SET client_min_messages = log; SET debug_print_plan = on; SET debug_print_rewritten = off")
      for call in calls {
        let before = said.all.count
        do { _ = try await login.query("SELECT count(*) FROM \(call)") } catch let error as PostgreSQLError {
          #expect(error.sqlState != nil, "\(error)")
        }
        // Its own statement's plan is the caller's.
        let sent = said.all.dropFirst(before)
        #expect(
          sent.count { $0 == "plan:" } <= 1 && sent.allSatisfy { $0 == "plan:" }, "\(call): \(sent.count)")
      }
    }
  }

  @Test("No role but the owner reads a result, an image or a failure by a table, a month's table or a view")
  func closed() async throws {
    for role in Self.roles {
      try await with(role, restricted: false) { (_, login, _) async throws in
        let open = try await login.query(
          """
          SELECT c.relname::text FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
          JOIN pg_class p ON p.oid = coalesce(i.inhparent, c.oid)
          WHERE c.relnamespace = 'analysis'::regnamespace AND has_any_column_privilege(c.oid, 'SELECT')
            AND (p.relname IN ('result', 'image', 'dead', 'attempt_error') OR c.relkind IN ('v', 'm'))
          """
        ).map { try $0.string(0) }
        #expect(open == [], "\(role)")
      }
    }
  }

  @Test("An administrator who sees some clinics only imports and renames nobody, and learns nothing by it")
  func administratorOfSomeClinics() async throws {
    try await with("administrator") { (_, login, _) async throws in
      for call in [
        #"import_users(0::smallint, '[{"user": "sue-south", "name": "", "email": ""}]', false, true)"#,
        #"import_users(0::smallint, '[{"user": "sue-south", "name": "Other"}]', false, false)"#,
        "rename_user(0::smallint, 'sue-south', 'other')",
      ] {
        let error = await #expect(throws: PostgreSQLError.self, "\(call)") {
          try await login.query("SELECT * FROM analysis.\(call)")
        }
        #expect(error?.sqlState == "42501", "\(call)")
      }
    }
  }

  @Test("An import of other values than it takes is refused as a whole, and none is shown")
  func importedValues() async throws {
    try await with("administrator", restricted: false) { (_, login, _) async throws in
      for user in [
        #"{"user": "u", "count": "Confided"}"#, #"{"user": "u", "count": 1.5}"#,
        #"{"user": "u", "count": 1e20}"#,
        #"{"user": "u", "last_reset": 1e400}"#, #"{"user": "u", "name": {"a": "Confided"}}"#, "5", "null",
        "[]",
      ] {
        let error = await #expect(throws: PostgreSQLError.self, "\(user)") {
          try await login.query("SELECT * FROM analysis.import_users(0::smallint, '[\(user)]', true, true)")
        }
        #expect(error?.sqlState == "22023" && error?.message.contains("Confided") == false, "\(user)")
      }
    }
  }

  @Test("No view is granted that has no security_barrier, to whatever role of the installation")
  func barriers() async throws {
    try await withCheckedQueue { (queue) async throws in
      let open = try await queue.texts(
        """
        SELECT c.relname || ' to ' || x.grantee::regrole FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) x
        WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind = 'v' AND x.grantee <> c.relowner
          AND NOT coalesce(c.reloptions, '{}') && ARRAY['security_barrier=true', 'security_barrier=on']
        """)
      #expect(open == [])
    }
  }

  @Test(
    "The plan of what an office reads is the same whatever another's patients have",
    arguments: [
      ("reporter", "analysis.finding_counts(%)"), ("reporter", "analysis.usage_report(%, NULL, now())"),
      ("reporter", "analysis.open_jobs(%)"), ("operator", "analysis.dead_counts(0::smallint, 100)"),
      ("operator", "analysis.dead_causes('-infinity', 100)"), ("operator", "analysis.month_totals()"),
      ("clinician", "analysis.jobs_shown(0::smallint, %, ARRAY[1, 2, 65, 66, 129, 193]::bigint[])"),
      ("operator", "analysis.usage_differences(0::smallint, %)"),
    ])
  func plans(role: String, call: String) async throws {
    try await with(role) { (queue, login, _) async throws in
      let month = try await queue.number("SELECT max(period)::int FROM analysis.result")
      // Pages read, like time, show how much work a call was: SECURITY.md claims nothing else. Version 18 shows them
      // unless told otherwise.
      let sql =
        "EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) SELECT * FROM "
        + call.replacing("%", with: "\(month)::smallint")
      let before = try await login.query(sql).map { try $0.string(0) }
      _ = try await queue.create([Ask("sue-south", image: "third")])
      let south = try await queue.number("SELECT user_id FROM analysis.account WHERE user_ref = 'sue-south'")
      let claimed = try await queue.claim(lease: 300).filter { $0.user == south }
      #expect(try await queue.complete(claimed).count == 2)
      _ = try await queue.deadJob("sue-south", image: "fourth")
      #expect(try await login.query(sql).map { try $0.string(0) } == before)
      #expect(before.allSatisfy { !$0.contains("result") && !$0.contains("account") }, "\(before)")
    }
  }
}
