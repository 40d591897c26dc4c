import PostgreSQL
import QueueTestSupport
import Testing

/// Every function that a role may call, with values that nobody means in the place of each parameter. The functions are
/// those of the catalogue: a new one is among them without being named here.
@Suite("No parameter of a function that a role may call is without bounds")
struct BoundTests {
  /// A function of the catalogue.
  private struct Function {
    let name: String
    let isVolatile: Bool
    /// Each with its place in the call: what a row is made of is as many parameters at one place.
    let parameters: [(name: String, type: String, place: Int)]

    /// The call with one argument replaced.
    func call(_ place: Int? = nil, _ value: String = "") -> String {
      let values = parameters.enumerated().map { index, parameter in
        index == place ? value : BoundTests.usual(parameter.name, parameter.type)
      }
      let arguments = Dictionary(grouping: parameters.indices) { parameters[$0].place }
        .sorted { $0.key < $1.key }
        .map { "(\($0.value.map { values[$0] }.joined(separator: ", ")))" }
      return
        "SELECT NULL FROM (SELECT count(*) FROM analysis.\(name)(\(arguments.joined(separator: ", ")))) c"
    }
  }

  /// What a parameter is given where another is looked at.
  private static func usual(_ name: String, _ type: String) -> String {
    let named = [
      "p_worker": "sha256('1')", "p_period": "analysis.period_of(now(), 'UTC')", "p_plan": "'free'",
      "p_before_period": "analysis.period_of(now(), 'UTC')", "p_zone": "'UTC'", "p_clinic": "'north'",
      "p_clinics": "'{north}'::text[]", "p_role": "'analysis_reporter'", "p_task": "'sweep'",
      "p_scope": "'type'", "p_event": "'worker_start'", "p_sha256": "ARRAY[sha256('x')]",
      "p_lanes": "'{5}'::smallint[]", "p_shards": "'{0}'::smallint[]", "p_now": "now()", "p_dry": "true",
      "p_verdict": "'agree'", "p_report": "'agreement'", "p_shard": "0::smallint",
      "p_max_attempts": "10::smallint", "p_encrypted_by": "NULL::bigint[]",
      "p_batch": "NULL::bigint", "p_clinic_kind": "'clinic'", "p_logo": "''::bytea",
      "p_pharmacy_logo": "''::bytea", "p_token": "sha256('token')", "p_tokens": "ARRAY[sha256('token')]",
      "p_hash": "sha256('new token')", "p_family": "sha256('family')", "p_turn": "sha256('turn')",
      "p_next": "sha256('next')", "p_object_bytes": "NULL::int[]",
      "p_object": "(SELECT o_prefix || '202101/ab/' || repeat('0', 32) FROM analysis.image_store())",
    ]
    let typed = [
      "p_user text": "'user'", "p_name text": "'throat'", "p_kind text": "'throat'",
      "p_priority text": "'normal'", "p_image bytea[]": "ARRAY['x'::bytea]",
      "p_image bytea": "E'\\\\xffd8ff'::bytea", "p_images bytea[]": "ARRAY[E'\\\\xffd8ff'::bytea]",
      // A month that has not begun, as a change of somebody's periods needs.
      "p_from smallint": "(analysis.period_of(now(), 'UTC') + 1)::smallint",
      "p_to smallint": "(analysis.period_of(now(), 'UTC') + 2)::smallint",
      "p_kinds text[]": "'{throat}'::text[]", "p_priorities text[]": "'{normal}'::text[]",
      "p_sha256 bytea": "sha256(E'\\\\xffd8ff')", "p_encrypted_by bigint": "NULL::bigint",
      "p_wrapped_key bytea": "NULL::bytea", "p_size integer[]": "'{640,480}'::int[]",
    ]
    let ofType = [
      "text": "'x'", "name": "'x'::name", "boolean": "false", "bytea": "'x'::bytea", "jsonb": "'{}'::jsonb",
      "text[]": "'{user}'::text[]", "boolean[]": "'{false}'::boolean[]", "jsonb[]": "ARRAY['{}'::jsonb]",
      "double precision[]": "'{0.5}'::float8[]", "bigint[]": "'{1}'::bigint[]", "integer[]": "'{1}'::int[]",
      "smallint[]": "'{1}'::smallint[]", "bigint": "1::bigint", "integer": "10", "smallint": "1::smallint",
    ]
    return typed["\(name) \(type)"] ?? named[name] ?? ofType[type] ?? "NULL::\(type)"
  }

  /// What nobody means.
  private static func extremes(_ name: String, _ type: String) -> [String] {
    let text = "repeat('x', 1000000)"
    let others: [String] =
      switch type {
      case "smallint": ["(-32768)::smallint", "32767::smallint"]
      case "integer": ["(-2147483648)::int", "2147483647"]
      case "bigint": ["(-9223372036854775808)::bigint", "9223372036854775807"]
      case "text": ["''", text]
      case "bytea": ["''::bytea", "convert_to(\(text), 'UTF8')"]
      case "timestamp with time zone": ["'infinity'::timestamptz", "'-infinity'::timestamptz"]
      case "jsonb": ["'[]'::jsonb", "jsonb_build_object('x', \(text))"]
      case let list where list.hasSuffix("[]"):
        ["'{}'::\(list)", "ARRAY[NULL]::\(list)"]
          + ["NULL::\(list)", usual(name, list)].map { "array_fill((\($0))[1], ARRAY[1000000])" }
          + (list == "text[]" ? ["ARRAY[\(text)]"] : [])
          + (list == "jsonb[]" ? ["ARRAY[jsonb_build_array(repeat('x', 4000000))]"] : [])
      default: []
      }
    return ["NULL::\(type)"] + others
  }

  /// Parameters that may be left out, or of which each value is an everyday one, so that the call does its work.
  private static let harmless: Set<String> = [
    "assign_clinic.p_clinic", "audit_worker.p_detail", "erase_user.p_user", "erase_user.p_user_id",
    "gateway_set_profile.p_name", "gateway_set_profile.p_email",
    "gateway_share_request.p_login", "gateway_share_request.p_carer",
    "grant_clinics.p_clinics", "heartbeat.p_leases", "heartbeat.p_host", "heartbeat.p_version",
    "open_analyses.p_detail", "open_conditions.p_detail", "open_statement.p_detail",
    "open_reviews.p_detail", "open_review_list.p_user", "open_review_list.p_verdict",
    "open_review_list.p_period", "open_review_queue.p_clinic", "open_review_queue.p_kind",
    "pause.p_reason", "pause.p_until", "set_clinic.p_clinic_kind", "set_clinic.p_address",
    "set_clinic.p_product", "set_clinic.p_logo", "set_clinic.p_pharmacy_logo", "set_product.p_off",
    "save_profile.p_name", "save_profile.p_email", "save_profile.p_subscription", "save_profile.p_count",
    "save_profile.p_last_reset", "set_period.p_from", "set_photo.p_url", "set_plan.p_from",
    "set_plan_limit.p_limit",
    "set_plan_limit.p_from", "submit.p_width", "submit.p_height", "submit.p_unsanitized", "submit.p_key",
    "submit.p_at", "submit.p_expires", "submit.p_source", "submit.p_encrypted_by", "submit.p_wrapped_key",
    "submit_one.p_image", "submit_one.p_width", "submit_one.p_height", "submit_one.p_unsanitized",
    "submit_one.p_key", "submit_one.p_at", "submit_one.p_expires", "submit_one.p_source",
    "submit_one.p_encrypted_by", "submit_one.p_wrapped_key",
    "open_batch.p_name", "open_batch.p_key", "submit_in_batch.p_batch", "submit_in_batch.p_reference",
    "submit_in_batch.p_width", "submit_in_batch.p_height", "submit_in_batch.p_unsanitized",
    "submit_in_batch.p_key", "submit_in_batch.p_at", "submit_in_batch.p_expires", "submit_in_batch.p_source",
    "submit_in_batch.p_encrypted_by", "submit_in_batch.p_wrapped_key", "submit_in_batch.p_object_bytes",
    "submit_in_batch.p_wakes",
    "submit_image.p_key", "submit_image.p_at", "submit_image.p_expires",
    "submit_images.p_keys", "submit_images.p_priorities", "submit_images.p_at", "submit_images.p_expires",
    "submit_images.p_batch", "submit_images.p_references",
    "submit_object.p_key", "submit_object.p_at", "submit_object.p_encrypted_by",
    "submit_object.p_wrapped_key",
    "gateway_submit.p_image", "gateway_submit.p_size",
    "gateway_submit.p_encrypted_by", "gateway_submit.p_wrapped_key",
    "add_token.p_label", "add_token.p_expires", "revoke_tokens.p_number",
    "tick.p_vt",
  ]

  /// Functions that refuse job by job or user by user: one that is refused may have drawn a number and taken a lock, and
  /// what they have done is a job or a user more.
  private static let drawing: Set<String> = [
    "submit", "submit_image", "submit_images", "submit_object",
    "submit_in_batch", "submit_one", "add_user",
    "gateway_submit",
  ]
  private static let stored = """
    SELECT (SELECT count(*) FROM analysis.ready) + (SELECT count(*) FROM analysis.scheduled)
      + (SELECT count(user_id) FROM analysis.account)
    """

  /// Functions that answer at most so much, whatever they are asked for.
  private static let clamped: Set<String> = [
    "list_users.p_limit", "list_photos.p_limit", "status_of_lanes.p_limit", "list_jobs.p_limit",
    "list_jobs.p_looks", "count_lanes.p_limit", "status_of_queue.p_limit", "list_dead.p_limit",
    "find_jobs.p_limit", "find_jobs.p_looks", "list_batches.p_looks", "list_reviews.p_limit",
    "review_queue.p_limit",
  ]
  private static let sizes: Set<String> = [
    "p_limit", "p_looks", "p_n", "p_count", "p_every_ms", "p_lease_ms",
  ]

  private func functions(_ queue: QueueFixture) async throws -> [Function] {
    let rows = try await queue.pool.query(
      """
      SELECT p.proname::text, p.provolatile = 'v', coalesce(a.names, '{}'), coalesce(a.types, '{}'),
        coalesce(a.places, '{}')
      FROM pg_proc p
      CROSS JOIN LATERAL (
        SELECT array_agg(coalesce('p_' || f.attname, u.name) ORDER BY u.i, f.attnum) AS names,
          array_agg(format_type(coalesce(f.atttypid, u.type), NULL) ORDER BY u.i, f.attnum) AS types,
          array_agg(u.i::int ORDER BY u.i, f.attnum) AS places
        FROM unnest(p.proargnames[1:p.pronargs], p.proargtypes::oid[]) WITH ORDINALITY u(name, type, i)
        JOIN pg_type t ON t.oid = u.type
        LEFT JOIN pg_attribute f ON t.typrelid <> 0 AND f.attrelid = t.typrelid AND f.attnum > 0
        WHERE u.type IS NOT NULL) a
      WHERE p.pronamespace = 'analysis'::regnamespace
        AND p.prokind = 'f'
        AND EXISTS (SELECT FROM analysis.role_rights() d WHERE p.proname = ANY (d.o_functions))
      ORDER BY 1
      """)
    return try rows.map { row in
      let (names, types) = (try row.array(2, of: String.self), try row.array(3, of: String.self))
      let places = try row.array(4, of: Int32.self)
      return Function(
        name: try row.string(0), isVolatile: try row.bool(1),
        parameters: names.indices.map { (names[$0], types[$0], Int(places[$0])) })
    }
  }

  /// What became of a call.
  private enum Outcome: Equatable {
    /// Nothing was changed or locked.
    case quiet
    /// It did something.
    case acted
    /// The server's or the function's refusal.
    case refused(String)
  }

  private func outcome(
    of call: String, _ function: Function, _ login: ConnectionPool
  ) async throws -> Outcome {
    struct Undone: Error {}
    do {
      var acted = false
      do {
        try await login.transaction { transaction in
          _ = try await transaction.query("SET LOCAL statement_timeout = '20s'")
          let before = try await transaction.query(Self.stored).single().int(0)
          _ = try await transaction.query(call)
          let after = try await transaction.query(Self.stored).single().int(0)
          let hasNumber = try await transaction.query(
            "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"
          ).single().bool(0)
          acted = Self.drawing.contains(function.name) ? after != before : hasNumber
          throw Undone()
        }
      } catch is Undone {}
      return acted ? .acted : .quiet
    } catch let error as PostgreSQLError {
      return .refused(error.sqlState ?? "\(error)")
    }
  }

  /// A value is out of range (22), breaks a rule of its column (23), is nobody's token (28), belongs to somebody else
  /// (42501), or was meant for what is lost (40001).
  private func isRefusal(_ state: String) -> Bool {
    ["22", "23", "28"].contains(state.prefix(2)) || state == "42501" || state == "40001"
  }

  @Test("each is refused, or changes and locks nothing", arguments: [0, 1, 2, 3])
  func extremes(part: Int) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      // A token of which the day of use is not written again.
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_token(0::smallint, 'user', sha256('token'), NULL, NULL);
        UPDATE analysis.user_token SET last_used_on = 'infinity';
        UPDATE analysis.setting SET value = 's3-plaintext' WHERE name = 'image_store'
        """)
      try await withLogin(of: LeakTests.roles, in: queue) { (login) async throws in
        // A login that has submitted before.
        _ = try await login.query("SELECT analysis.submit_image('user', 'throat', E'\\\\xffd8ff')")
        var used: Set<String> = []
        var looked = 0
        for (index, function) in try await functions(queue).enumerated() where index % 4 == part {
          for (place, parameter) in function.parameters.enumerated() {
            let key = "\(function.name).\(parameter.name)"
            for value in Self.extremes(parameter.name, parameter.type) {
              looked += 1
              let outcome = try await outcome(of: function.call(place, value), function, login)
              let what = "\(key) = \(value.prefix(60)): \(outcome)"
              switch outcome {
              case .refused(let state): #expect(isRefusal(state), "\(what)")
              case .quiet:
                let isUnbounded = Self.sizes.contains(parameter.name) && value == "2147483647"
                #expect(!isUnbounded || Self.clamped.contains(key), "\(what)")
              case .acted:
                used.insert(key)
                #expect(!function.isVolatile || Self.harmless.contains(key), "\(what)")
              }
            }
          }
        }
        #expect(looked > 100)
        let names = try await functions(queue).enumerated().filter { $0.offset % 4 == part }.map(
          \.element.name)
        let meant = Self.harmless.filter { key in names.contains { key.hasPrefix("\($0).") } }
        #expect(used.isSuperset(of: meant), "not needed: \(meant.subtracting(used).sorted())")
      }
    }
  }
}
