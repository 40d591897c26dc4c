import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue

@Suite("Rights")
struct RightsTests {
  /// A role that every server has and that nobody here is.
  private let role = "pg_monitor"

  @Test("Nobody but the owner may do anything to begin with")
  func closed() async throws {
    try await withCheckedQueue { (queue) async throws in
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
    "A role has its functions and no others",
    arguments: [
      ("worker", ["claim", "complete", "rescue"], ["submit", "cancel", "retry_dead", "audit_add"]),
      (
        "submitter", ["submit", "submit_one", "submit_image", "results_of"],
        ["claim", "complete", "retry_dead"]
      ),
      (
        "clinician", ["open_results", "results_of", "jobs_shown", "list_jobs", "report_analyses"],
        [
          "lost_jobs", "broken_invariants", "submit", "cancel", "claim", "audit_add", "audit_list",
          "close_usage",
          "dead_counts",
        ]
      ),
      (
        "reviewer", ["open_picture", "picture_of", "add_review", "review_queue", "results_of", "list_jobs"],
        [
          "open_export", "export_images", "erase_user", "report_analyses", "cancel", "audit_list",
          "accept_share",
        ]
      ),
      (
        "reporter", ["usage_report", "close_usage", "preview_closing", "list_months"],
        ["results_of", "open_analyses", "cancel", "add_user", "set_plan"]
      ),
      (
        "operator", ["pause", "resume", "retry_dead", "cancel", "list_jobs", "lost_jobs", "job_death"],
        ["submit", "claim", "add_user", "close_usage", "open_results", "results_of", "report_analyses"]
      ),
      (
        "gateway", ["gateway_user", "gateway_submit", "gateway_results", "notify_workers"],
        [
          "submit", "token_user", "open_results", "results_of", "add_token", "list_tokens", "cancel",
          "list_users",
        ]
      ),
      (
        "auditor",
        ["usage_report", "audit_list", "chain_audit", "lost_jobs", "broken_invariants", "list_months"],
        [
          "close_usage", "preview_closing", "pause", "cancel", "retry_dead", "add_user", "results_of",
          "audit_add",
        ]
      ),
    ])
  func roles(name: String, may: [String], mayNot: [String]) async throws {
    try await withCheckedQueue { (queue) async throws in
      let role = "analysis_\(name)"
      let open = try await queue.texts(
        """
        SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND has_function_privilege('\(role)', p.oid, 'EXECUTE')
        """)
      #expect(Set(may).isSubset(of: open))
      #expect(Set(mayNot).isDisjoint(with: open))
      // The function runs as its owner: no role may write a table.
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
    try await withCheckedQueue { (queue) async throws in
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

  @Test("What was granted beside the roles, or of results, images and failures to anybody, is taken back")
  func surplus() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { login in
        let month = try await queue.number("SELECT max(period)::int FROM analysis.partition_made")
        try await queue.execute(
          """
          GRANT SELECT (job_id) ON analysis.result TO PUBLIC;
          GRANT SELECT ON analysis.job_status, analysis.image_p\(month), analysis.usage TO \(login), analysis_operator;
          GRANT EXECUTE ON FUNCTION analysis.erase_user TO \(login), analysis_operator;
          SELECT analysis.apply_rights()
          """)
        #expect(try await queue.number("SELECT count(*) FROM analysis.surplus_rights()") == 0)
        #expect(
          try await queue.texts(
            """
            SELECT c FROM unnest(ARRAY['result', 'job_status', 'image_p\(month)', 'usage']) c
            WHERE has_any_column_privilege('\(login)', 'analysis.' || c, 'SELECT')
            """) == [])
        #expect(
          try await queue.texts(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
            WHERE p.proname = 'erase_user' AND has_function_privilege('\(login)', p.oid, 'EXECUTE')
            """) == [])
      }
    }
  }

  @Test("What a role lost is given again by a migration")
  func given() async throws {
    try await withCheckedQueue { (queue) async throws in
      func missing() async throws -> [String] {
        try await queue.texts("SELECT o_role || ' ' || o_name FROM analysis.missing_rights() ORDER BY 1")
      }
      #expect(try await missing() == [])
      try await queue.execute("REVOKE EXECUTE ON FUNCTION analysis.record_report FROM analysis_worker")
      try await queue.execute("REVOKE SELECT (zone) ON analysis.account FROM analysis_reporter")
      try await queue.execute("REVOKE USAGE ON SCHEMA analysis FROM analysis_privacy")
      #expect(
        try await missing() == [
          "analysis_privacy schema", "analysis_reporter account", "analysis_worker record_report",
        ])
      _ = try await Migrator(queue.pool).migrate()
      #expect(try await missing() == [])
    }
  }

  @Test("Nobody but the owner says that it is later than it is, or takes away a month's images that are kept")
  func moments() async throws {
    try await withCheckedQueue { (queue) async throws in
      for call in [
        "SELECT * FROM analysis.purge_months(now() + interval '10 years')",
        "SELECT analysis.index_images(24300::smallint, now() + interval '10 years')",
      ] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await queue.pool.transaction { transaction in
            _ = try await transaction.query("SET LOCAL ROLE analysis_retention")
            _ = try await transaction.query(call)
          }
        }
        #expect(error?.sqlState == "42501", "\(call)")
      }
    }
  }

  @Test("A role names only what there is")
  func names() async throws {
    try await withCheckedQueue { (queue) async throws in
      let unknown = try await queue.texts(
        """
        SELECT f FROM analysis.role_rights() d, unnest(d.o_functions) f
        WHERE NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname = f)
        UNION
        SELECT t FROM analysis.role_rights() d, unnest(d.o_tables) t
        WHERE to_regclass('analysis.' || split_part(t, '(', 1)) IS NULL OR EXISTS (
          SELECT FROM unnest(string_to_array(rtrim(split_part(t, '(', 2), ')'), ',')) c
          WHERE NOT EXISTS (
            SELECT FROM pg_attribute a
            WHERE a.attrelid = to_regclass('analysis.' || split_part(t, '(', 1)) AND a.attname = c))
        """)
      #expect(unknown == [])
      let roles = try await queue.texts("SELECT o_role FROM analysis.role_rights()")
      #expect(Set(roles) == Set(DatabaseRole.allCases.filter { $0 != .owner }.map(\.rawValue)))
    }
  }

  @Test("Everything in the schema belongs to a role that cannot log in and is no superuser")
  func ownership() async throws {
    try await withCheckedQueue { (queue) async throws in
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
      let groups = DatabaseRole.allCases.map { $0.name(prefix: "analysis") }.sorted()
      #expect(
        try await queue.texts(
          """
          SELECT rolname FROM pg_roles
          WHERE rolname = ANY ('{\(groups.joined(separator: ","))}')
            AND NOT (rolsuper OR rolcanlogin OR rolbypassrls OR rolcreaterole OR rolcreatedb) ORDER BY 1
          """) == groups)
    }
  }

  @Test("Every function with its owner's rights fixes what a session could have set")
  func settings() async throws {
    try await withCheckedQueue { (queue) async throws in
      let open = try await queue.texts(
        """
        SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND p.prosecdef
          AND NOT coalesce(p.proconfig, '{}') @> ARRAY['search_path=pg_catalog, pg_temp', 'client_min_messages=notice',
            'standard_conforming_strings=on', 'TimeZone=UTC', 'DateStyle=ISO, MDY', 'IntervalStyle=postgres']
        """)
      #expect(open == [])
    }
  }
}
