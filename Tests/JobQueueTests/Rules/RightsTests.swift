import JobQueue
import PostgreSQL
import Testing

@Suite("Rights")
struct RightsTests {
  /// A role that every server has and that nobody here is.
  private let role = "pg_monitor"

  @Test("Nobody but the owner may do anything to begin with")
  func closed() async throws {
    try await RuleQueue.run { (queue) async throws in
      #expect(
        try await queue.texts("SELECT has_schema_privilege('\(role)', 'analysis', 'USAGE')::text") == [
          "false"
        ])
      let open = try await queue.texts(
        """
        SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND has_function_privilege('\(role)', p.oid, 'EXECUTE')
        """)
      #expect(open == [])
    }
  }

  @Test(
    "A duty brings its functions and no others",
    arguments: [
      ("worker", ["claim", "complete", "rescue"], ["submit", "cancel", "retry_dead", "audit_add"]),
      ("submitter", ["submit", "submit_image", "results_of"], ["claim", "complete", "retry_dead"]),
      (
        "reader", ["open_results", "results_of", "jobs_shown", "list_jobs"],
        ["lost_jobs", "broken_invariants", "submit", "cancel", "claim", "audit_add", "audit_list"]
      ),
      (
        "reporter", ["usage_report", "close_usage"],
        ["results_of", "open_analyses", "cancel", "add_user", "set_plan"]
      ),
      ("diagnoses", ["open_analyses", "report_analyses"], ["results_of", "close_usage", "cancel"]),
      (
        "operator", ["pause", "resume", "retry_dead", "cancel", "list_jobs", "lost_jobs"],
        ["submit", "claim", "add_user", "close_usage"]
      ),
      (
        "auditor", ["usage_report", "audit_list", "chain_audit", "lost_jobs", "broken_invariants"],
        ["close_usage", "pause", "cancel", "retry_dead", "add_user", "results_of", "audit_add"]
      ),
    ])
  func duties(duty: String, may: [String], mayNot: [String]) async throws {
    try await RuleQueue.run { (queue) async throws in
      try await queue.execute("SELECT analysis.allow('\(role)', '\(duty)')")
      let open = try await queue.texts(
        """
        SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND has_function_privilege('\(role)', p.oid, 'EXECUTE')
        """)
      #expect(Set(may).isSubset(of: open))
      #expect(Set(mayNot).isDisjoint(with: open))
      // The function runs as its owner: no duty may write a table.
      let writable = try await queue.texts(
        """
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p')
          AND has_table_privilege('\(role)', c.oid, 'INSERT, UPDATE, DELETE')
        """)
      #expect(writable == [])
      // The salt and the hash of idempotency keys are nobody's business.
      let secret = try await queue.texts(
        """
        SELECT c.name FROM (VALUES ('account', 'key_salt'), ('job', 'key_hash'), ('profile', 'name')) c(relation, name)
        WHERE has_column_privilege('\(role)', 'analysis.' || c.relation, c.name, 'SELECT')
        """)
      #expect(secret == [])
    }
  }

  @Test("What is new in the schema is closed from the moment on at which anybody sees it")
  func closedAtOnce() async throws {
    try await RuleQueue.run { (queue) async throws in
      let source = MigrationSource.embedded
      let more = MigrationSource(
        migrations: source.migrations,
        functions: source.functions + [
          MigrationSource.FunctionGroup(
            name: "zzz_new", text: "CREATE FUNCTION analysis.zzz() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        ], finally: nil)
      _ = try await Migrator(queue.pool, source: more).migrate()
      #expect(
        try await queue.texts("SELECT has_function_privilege('\(role)', 'analysis.zzz()', 'EXECUTE')::text")
          == ["false"])
    }
  }

  @Test("What was granted beside the duties, or of results, images and failures to anybody, is taken back")
  func surplus() async throws {
    try await RuleQueue.run { (queue) async throws in
      let month = try await queue.number("SELECT max(period)::int FROM analysis.partition_made")
      try await queue.execute(
        """
        SELECT analysis.allow('\(role)', 'operator');
        GRANT SELECT (job_id) ON analysis.result TO PUBLIC;
        GRANT SELECT ON analysis.job_status, analysis.image_p\(month), analysis.usage TO \(role);
        GRANT EXECUTE ON FUNCTION analysis.erase_user TO \(role);
        SELECT analysis.apply_rights()
        """)
      #expect(try await queue.number("SELECT count(*) FROM analysis.surplus_rights()") == 0)
      #expect(
        try await queue.texts(
          """
          SELECT c FROM unnest(ARRAY['result', 'job_status', 'image_p\(month)', 'usage']) c
          WHERE has_any_column_privilege('\(role)', 'analysis.' || c, 'SELECT')
          """) == [])
      #expect(
        try await queue.texts(
          "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.proname = 'erase_user' AND has_function_privilege('\(role)', p.oid, 'EXECUTE')"
        )
          == [])
    }
  }

  @Test("Nobody but the owner says that it is later than it is, or takes away a month's images that are kept")
  func moments() async throws {
    try await RuleQueue.run { (queue) async throws in
      try await queue.execute("SELECT analysis.allow('\(role)', 'retention')")
      for call in [
        "SELECT * FROM analysis.purge_months(now() + interval '10 years')",
        "SELECT analysis.index_images(24300::smallint, now() + interval '10 years')",
      ] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await queue.pool.transaction { transaction in
            _ = try await transaction.query("SET LOCAL ROLE \(role)")
            _ = try await transaction.query(call)
          }
        }
        #expect(error?.sqlState == "42501", "\(call)")
      }
    }
  }

  @Test("A duty names only what there is")
  func names() async throws {
    try await RuleQueue.run { (queue) async throws in
      let unknown = try await queue.texts(
        """
        SELECT f FROM analysis.duties() d, unnest(d.o_functions) f
        WHERE NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname = f)
        UNION
        SELECT t FROM analysis.duties() d, unnest(d.o_tables) t
        WHERE to_regclass('analysis.' || split_part(t, '(', 1)) IS NULL OR EXISTS (
          SELECT FROM unnest(string_to_array(rtrim(split_part(t, '(', 2), ')'), ',')) c
          WHERE NOT EXISTS (
            SELECT FROM pg_attribute a
            WHERE a.attrelid = to_regclass('analysis.' || split_part(t, '(', 1)) AND a.attname = c))
        """)
      #expect(unknown == [])
    }
  }

  @Test("A duty is remembered and given again with what is missing of it, until it is taken away")
  func remembered() async throws {
    try await RuleQueue.run { (queue) async throws in
      func missing(_ duty: String) async throws -> [String] {
        try await queue.texts("SELECT o_name FROM analysis.missing_rights('\(role)', '\(duty)') ORDER BY 1")
      }
      try await queue.execute("SELECT analysis.allow('\(role)', 'worker')")
      try await queue.execute("SELECT analysis.allow('\(role)', 'reporter')")
      try await queue.execute("REVOKE EXECUTE ON FUNCTION analysis.record_report FROM \(role)")
      try await queue.execute("REVOKE SELECT (zone) ON analysis.account FROM \(role)")
      #expect(try await missing("worker") == ["record_report"])
      #expect(try await missing("reporter") == ["account"])
      _ = try await Migrator(queue.pool).migrate()
      #expect(try await missing("worker") == [])
      #expect(try await missing("reporter") == [])

      try await queue.execute("SELECT analysis.disallow('\(role)', 'worker')")
      _ = try await Migrator(queue.pool).migrate()
      #expect(try await missing("reporter") == [])
      #expect(
        try await queue.texts(
          "SELECT has_function_privilege('\(role)', 'analysis.record_report(smallint, bigint, jsonb)', 'EXECUTE')::text"
        )
          == ["false"])
      try await queue.execute("SELECT analysis.disallow('\(role)', 'reporter')")
      #expect(
        try await queue.texts("SELECT has_schema_privilege('\(role)', 'analysis', 'USAGE')::text") == [
          "false"
        ])
    }
  }

  @Test("A role from which the schema was taken by hand has its duty no more")
  func forgotten() async throws {
    try await RuleQueue.run { (queue) async throws in
      try await queue.execute("SELECT analysis.allow('\(role)', 'worker')")
      try await queue.execute("REVOKE USAGE ON SCHEMA analysis FROM \(role)")
      _ = try await Migrator(queue.pool).migrate()
      #expect(try await queue.number("SELECT count(*) FROM analysis.duty_granted") == 0)
      #expect(
        try await queue.texts("SELECT has_schema_privilege('\(role)', 'analysis', 'USAGE')::text") == [
          "false"
        ])
    }
  }

  @Test("What there is no duty or no role of is refused by name")
  func unknown() async throws {
    try await RuleQueue.run { (queue) async throws in
      for (call, state) in [("'\(role)', 'king'", "22023"), ("'nobody_at_all', 'worker'", "42704")] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await queue.execute("SELECT analysis.allow(\(call))")
        }
        #expect(error?.sqlState == state)
      }
    }
  }

  @Test("Everything in the schema belongs to a role that cannot log in and is no superuser")
  func ownership() async throws {
    try await RuleQueue.run { (queue) async throws in
      let others = try await queue.texts(
        """
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'analysis'::regnamespace
          AND c.relowner <> 'analysis_owner'::regrole
        UNION
        SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'analysis'::regnamespace
          AND p.proowner <> 'analysis_owner'::regrole
        UNION
        SELECT t.typname FROM pg_type t WHERE t.typnamespace = 'analysis'::regnamespace
          AND t.typowner <> 'analysis_owner'::regrole
        UNION
        SELECT 'the schema' FROM pg_namespace n WHERE n.nspname = 'analysis' AND n.nspowner <> 'analysis_owner'::regrole
        """)
      #expect(others == [])
      #expect(
        try await queue.texts(
          """
          SELECT rolname FROM pg_roles
          WHERE rolname ~ '^analysis_(owner|submitter|worker|reporter|auditor)$'
            AND NOT (rolsuper OR rolcanlogin OR rolbypassrls OR rolcreaterole) ORDER BY 1
          """) == [
            "analysis_auditor", "analysis_owner", "analysis_reporter", "analysis_submitter",
            "analysis_worker",
          ])
    }
  }

  @Test("Every function that a role may call keeps its own search path")
  func searchPath() async throws {
    try await RuleQueue.run { (queue) async throws in
      let open = try await queue.texts(
        """
        SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND p.prosecdef
          AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}'))
        """)
      #expect(open == [])
    }
  }
}
