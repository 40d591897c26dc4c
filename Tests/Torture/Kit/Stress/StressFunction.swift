import PostgreSQL

/// A function that a login may call, as the server's catalogue has it: a new one is among them by itself.
struct StressFunction: Sendable, Equatable {
  /// What it is given.
  struct Parameter: Sendable, Equatable {
    let name: String
    let type: String
  }

  let name: String
  let isProcedure: Bool
  let parameters: [Parameter]
  /// How many of the last parameters may be left out.
  let defaults: Int

  /// Those that a login may call and that are of a role. What only the owner calls is made for those functions.
  static func all(of login: String, in database: ConnectionPool) async throws -> [StressFunction] {
    try await database.query(
      """
      SELECT p.proname::text, p.prokind = 'p', p.pronargdefaults::int,
        ARRAY(SELECT n FROM unnest(p.proargnames) WITH ORDINALITY u(n, place)
          WHERE coalesce(p.proargmodes[place]::text, 'i') IN ('i', 'b') ORDER BY place)::text[],
        ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY u(t, place) ORDER BY place)
      FROM pg_proc p
      WHERE p.pronamespace = 'analysis'::regnamespace AND has_function_privilege($1, p.oid, 'EXECUTE')
        AND EXISTS (SELECT FROM analysis.role_rights() r WHERE p.proname = ANY (r.o_functions))
      ORDER BY p.oid::regprocedure::text
      """, [.text(login)], deadline: .seconds(10)
    ).map { row in
      StressFunction(
        name: try row.string(0), isProcedure: try row.bool(1),
        parameters: zip(try row.array(3, of: String.self), try row.array(4, of: String.self))
          .map { Parameter(name: $0, type: $1) },
        defaults: Int(try row.int32(2)))
    }
  }
}
