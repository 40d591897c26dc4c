import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images

@Suite("A hostile schema first in the search path")
struct HostilePathTests {
  /// Functions, operators and tables in `public` with the names of the server's own and with types that fit as well or
  /// better; each of them fails when it is used.
  private static let hostile = """
    SET search_path = pg_catalog;
    GRANT CREATE ON SCHEMA public TO PUBLIC;
    DO $$
    DECLARE
      v_function record;
      v_element text;
      v_name text;
    BEGIN
      FOR v_function IN
        SELECT p.proname, t.element, pg_catalog.string_agg(
                 CASE WHEN a.type IN ('anyarray', 'anycompatiblearray') THEN t.element || '[]'
                      WHEN a.type IN ('anyelement', 'anynonarray', 'anycompatible', 'anycompatiblenonarray', 'any') THEN t.element
                      ELSE a.type END, ', ' ORDER BY a.place) AS arguments
        FROM pg_proc p
        CROSS JOIN unnest(ARRAY['text', 'int8']) t(element)
        CROSS JOIN LATERAL (
          SELECT u.place, format_type(u.type, NULL) AS type FROM unnest(p.proargtypes) WITH ORDINALITY u(type, place)
          UNION ALL SELECT 0, NULL WHERE p.pronargs = 0) a
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a') AND p.provariadic = 0
        GROUP BY p.oid, p.proname, t.element
        HAVING count(*) FILTER (WHERE a.type IN ('internal', 'cstring', 'anyrange', 'anymultirange', 'anyenum',
          'anycompatiblerange', 'anycompatiblemultirange', 'record', 'trigger', '"any"', 'event_trigger')) = 0
      LOOP
        BEGIN
          EXECUTE format(
            'CREATE FUNCTION public.%I(%s) RETURNS text LANGUAGE plpgsql AS %L', v_function.proname, v_function.arguments,
            format('BEGIN RAISE EXCEPTION %L; END', 'hostile function ' || v_function.proname));
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
      END LOOP;
      FOR v_function IN
        SELECT o.oprname, format_type(o.oprleft, NULL) AS l, format_type(o.oprright, NULL) AS r, format_type(o.oprresult, NULL) AS result,
               o.oid
        FROM pg_operator o
        WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0
          AND format_type(o.oprleft, NULL) NOT LIKE 'any%' AND format_type(o.oprright, NULL) NOT LIKE 'any%'
      LOOP
        v_name := 'operator_' || v_function.oid;
        BEGIN
          EXECUTE format(
            'CREATE FUNCTION public.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', v_name, v_function.l, v_function.r,
            v_function.result, format('BEGIN RAISE EXCEPTION %L; END', 'hostile operator ' || v_function.oprname));
          EXECUTE format(
            'CREATE OPERATOR public.%s (FUNCTION = public.%I, LEFTARG = %s, RIGHTARG = %s)', v_function.oprname, v_name,
            v_function.l, v_function.r);
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
      END LOOP;
      FOREACH v_name IN ARRAY ARRAY['pg_class', 'pg_proc', 'pg_namespace', 'pg_roles', 'pg_database', 'pg_locks', 'pg_stat_activity',
        'pg_settings', 'pg_timezone_names', 'pg_attribute', 'pg_type'] LOOP
        EXECUTE format('CREATE VIEW public.%I AS SELECT 1 / (random() * 0)::int AS hostile', v_name);
      END LOOP;
      EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
    END $$
    """

  /// How many of them there are, by a session that starts with the path.
  private func expectHostile(_ database: TestDatabase, _ loop: EventLoop) async throws {
    let pool = ConnectionPool(database.configuration, on: loop, size: 1)
    let error = await #expect(throws: PostgreSQLError.self) { _ = try await pool.query("SELECT 1 = 1") }
    #expect(error?.message.contains("hostile") == true)
    let other = await #expect(throws: PostgreSQLError.self) {
      _ = try await pool.query("SELECT cardinality('{a}'::text[])")
    }
    #expect(other?.message.contains("hostile") == true)
    await pool.close()
  }

  @Test("A superuser who migrates runs nothing of it, first and again")
  func migrating() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let pool = ConnectionPool(database.configuration, on: loop, size: 1)
      try await pool.execute(script: Self.hostile, deadline: patience)
      await pool.close()
      try await expectHostile(database, loop)
      let environment = ["ANALYSIS_DATABASE": database.conninfo]
      for words in [["migrate", "--dry-run"], ["migrate"], ["migrate"], ["status"]] {
        let ended = try await Executable("analysisctl", words, environment: environment).ended()
        #expect(ended.code == 0, "\(words): \(ended.messages)")
      }
      loop.shutdown()
    }
  }

  @Test("No statement of our programs runs anything of it")
  func programs() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with { endpoint in
        try await queue.addUser("u1")
        let jobs = try await queue.submit(3, user: "u1", image: drawnPicture())
        try await queue.pool.execute(script: Self.hostile, deadline: patience)
        try await expectHostile(queue.database, queue.loop)
        let worker = try await Executable(
          "analysis-worker", ["--drain", "--endpoint", endpoint.url, "--drain-horizon", "10s"],
          environment: queue.environment
        ).ended()
        #expect(worker.code == 0, "\(worker.messages)")
        #expect(!worker.messages.contains("hostile"), "\(worker.messages)")
        let job = "\(jobs[0])"
        let folder = try TemporaryFolder()
        let (key, picture) = (folder.path("image.keys"), folder.path("p.jpg"))
        try await Data(drawnPicture().bytes).write(to: URL(filePath: picture))
        for words in [
          ["status"], ["jobs", "list"], ["jobs", "list", "--state", "dead"],
          ["jobs", "list", "--user", "u1"],
          ["jobs", "show", job], ["jobs", "cancel", job], ["jobs", "retry", job], ["users", "list"],
          ["users", "show", "u1"], ["users", "add", "u2"], ["users", "set-plan", "u1", "free"],
          ["plans", "list"],
          ["clinics", "list"], ["clinics", "add", "north"], ["pause"], ["resume"], ["report", "usage"],
          ["report", "analyses"], ["report", "conditions"], ["report", "summary"], ["reconcile"],
          ["keys", "new", "--key-file", key], ["keys", "list", "--key-file", key],
          ["submit", "--user", "u1", "--type", "throat", picture], ["keys", "rotate", "--key-file", key],
          ["users", "export", "u1", "--out", folder.path("u1"), "--key-file", key],
          ["erase", "--user", "u1", "--confirm", "u1", "--cancel-open"], ["audit", "list"],
          ["audit", "verify"], ["doctor"],
          ["purge", "--yes"],
          ["migrate"],
        ] {
          let ended = try await Executable("analysisctl", words, environment: queue.environment)
            .ended()
          #expect(
            !ended.messages.contains("hostile") && !ended.output.contains("hostile"),
            "\(words): \(ended.messages)\(ended.output)")
          #expect(![64, 69, 70, 75, 77].contains(ended.code), "\(words): \(ended.messages)")
        }
      }
    }
  }
}
