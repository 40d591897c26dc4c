import PostgreSQL
import Testing

@Suite("Rights")
struct RightsTests {
  /// A role that every server has and that nobody here is.
  private let role = "pg_monitor"

  @Test("Nobody but the owner may do anything to begin with")
  func closed() async throws {
    try await RuleQueue.run { queue in
      #expect(
        try await queue.texts("SELECT has_schema_privilege('\(role)', 'analysis', 'USAGE')::text") == [
          "false"
        ])
      let open = try await queue.texts(
        """
        SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND has_function_privilege('\(role)', p.oid, 'EXECUTE')
          AND p.proname <> 'broken_invariants' -- the tests' own
        """)
      #expect(open == [])
    }
  }

  @Test(
    "A duty brings its functions and no others",
    arguments: [
      ("worker", ["claim", "complete", "rescue"], ["submit", "cancel", "retry_dead"]),
      ("submitter", ["submit", "submit_image", "result_of"], ["claim", "complete", "retry_dead"]),
      ("reader", ["result_of"], ["submit", "cancel", "claim"]),
    ])
  func duties(duty: String, may: [String], mayNot: [String]) async throws {
    try await RuleQueue.run { queue in
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

  @Test("Every function that a role may call keeps its own search path")
  func searchPath() async throws {
    try await RuleQueue.run { queue in
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
