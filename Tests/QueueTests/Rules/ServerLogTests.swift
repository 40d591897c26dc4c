import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("What is refused stands in the server's log by its column, and never by its content")
struct ServerLogTests {
  /// What stands in every text and picture that is written here.
  private static let mark = "peritonsillar"

  /// A change of one argument of a call, and the column that its refusal names.
  struct Change: Sendable {
    let argument: String
    let value: String
    let column: String

    init(_ argument: String, _ value: String, _ column: String? = nil) {
      self.argument = argument
      self.value = value
      self.column = column ?? argument
    }
  }

  /// Runs a body against a server of its own, whose settings of the log are the server's defaults.
  private func with(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withServerCluster { cluster in
      try await withQueue(on: cluster) { (queue) async throws in
        try await queue.addUser("clinic")
        try await body(queue)
        let log = cluster.log
        #expect(log.contains("is missing, too long or invalid"), "the refusals are logged")
        #expect(!log.contains(Self.mark) && !log.contains("Failing row"), "\(log.suffix(4000))")
        // The server itself would tell: it does where somebody writes past the functions.
        await #expect(throws: PostgreSQLError.self) {
          try await queue.pool.query(
            "INSERT INTO analysis.profile (shard, user_id, name, email) VALUES (0, 0, $1, repeat('a', 400))",
            [.text(Self.mark)])
        }
        #expect(cluster.log.contains("Failing row contains (0, null, 0, null,"))
        #expect(cluster.log.contains(Self.mark))
      }
    }
  }

  /// Expects that a call is refused for a column.
  private func expectRefused(
    _ queue: QueueFixture, _ sql: String, _ parameters: [Parameter], for column: String
  ) async {
    let error = await #expect(throws: PostgreSQLError.self, "\(sql)") {
      try await queue.pool.query(sql, parameters)
    }
    #expect(error?.sqlState == "22023" && error?.detail == nil, "\(sql)")
    #expect(error?.message.contains(column) == true, "\(column): \(error?.message ?? "")")
  }

  // MARK: Results

  private static let result: [(name: String, value: String)] = [
    ("analysis_id", "$3"), ("answered_at", "NULL::timestamptz"), ("conditions", "$4"),
    ("condition_count", "2::smallint"), ("primary_id", "$3"), ("primary_name", "$3"),
    ("primary_confidence", "0.9::float8"), ("primary_band", "4::smallint"), ("primary_normal", "false"),
    ("secondary_id", "$3"), ("secondary_name", "$3"), ("secondary_confidence", "0.1::float8"),
    ("secondary_band", "1::smallint"), ("secondary_normal", "false"), ("serious", "0.9::float8"),
    ("consult", "0.9::float8"), ("endpoint_serious", "true"), ("endpoint_consult", "true"),
    ("calls", "1::smallint"), ("call_ms", "10"), ("model", "$3"), ("endpoint", "$3"),
  ]

  static let results: [Change] =
    [
      Change("conditions", "$3"), Change("conditions", "$4 || ','"),
      Change("conditions", "($4::jsonb -> 0)::text"),
      Change("conditions", #"replace($4, 'tonsil', '\u0000')"#), Change("conditions", "NULL::text"),
      Change("condition_count", "3::smallint"),
      Change("condition_count", "1::smallint", "secondary_id"), Change("condition_count", "NULL::smallint"),
      Change("analysis_id", "NULL::text"), Change("calls", "0::smallint"), Change("calls", "NULL::smallint"),
    ]
    + ["primary", "secondary"].flatMap { place in
      [
        Change("\(place)_id", "NULL::text"), Change("\(place)_name", "NULL::text"),
        Change("\(place)_normal", "NULL::boolean"), Change("\(place)_confidence", "NULL::float8"),
        Change("\(place)_confidence", "1.5::float8"), Change("\(place)_confidence", "-0.1::float8"),
        Change("\(place)_confidence", "'NaN'::float8"), Change("\(place)_band", "0::smallint"),
        Change("\(place)_band", "5::smallint"), Change("\(place)_band", "NULL::smallint"),
      ]
    }

  private static func complete(_ change: Change? = nil) -> String {
    let arguments = result.map { "ARRAY[\($0.name == change?.argument ? change?.value ?? "" : $0.value)]" }
    return "SELECT cardinality(o_stored) FROM analysis.complete(0::smallint, \(QueueFixture.workerSecret), "
      + "ARRAY[$1::bigint], ARRAY[$2::bigint], \(arguments.joined(separator: ", ")), '1.0')"
  }

  @Test("when a result is stored that breaks a rule of its table, or is no JSON")
  func stored() async throws {
    try await with { (queue) async throws in
      _ = try await queue.create([Ask("clinic", image: Self.mark)])
      let job = try #require(try await queue.claimJobs().first)
      let conditions = #"[{"id": "\#(Self.mark)"}, {"id": "\#(Self.mark)"}]"#
      let parameters: [Parameter] = [
        .int64(job.lease), .int64(job.id.value), .text(Self.mark), .text(conditions),
      ]
      for change in Self.results {
        await expectRefused(queue, Self.complete(change), parameters, for: change.column)
      }
      #expect(try await queue.results == 0)
      #expect(try await queue.number(Self.complete(), parameters) == 1)
    }
  }

  // MARK: Failures

  private static let failure: [(name: String, value: String)] = [
    ("delay", "NULL::bigint"), ("consume", "true"), ("class", "'server'::text"), ("code", "$3::text"),
    ("message", "$3"), ("error_id", "$3"), ("status", "500::smallint"), ("calls", "1::smallint"),
    ("maybe_counted", "false"), ("endpoint", "$3"),
  ]

  static let failures: [Change] = [
    Change("class", "''"), Change("class", "repeat($3, 5)"), Change("code", "repeat($3, 16)"),
    Change("message", "NULL::text"), Change("message", "''"), Change("message", "repeat($3, 160)"),
    Change("error_id", "repeat($3, 16)"), Change("endpoint", "repeat($3, 16)"),
    Change("calls", "-1::smallint"),
    Change("calls", "NULL::smallint"), Change("maybe_counted", "NULL::boolean"),
  ]

  private static func fail(_ change: Change? = nil) -> String {
    let arguments = failure.map { "ARRAY[\($0.name == change?.argument ? change?.value ?? "" : $0.value)]" }
    return "SELECT (o_outcome = 'dead')::int FROM analysis.fail(0::smallint, \(QueueFixture.workerSecret), "
      + "ARRAY[$1::bigint], ARRAY[$2::bigint], \(arguments.joined(separator: ", ")))"
  }

  @Test("when a failure is recorded that breaks a rule of its table")
  func failed() async throws {
    try await with { (queue) async throws in
      _ = try await queue.create([Ask("clinic", image: Self.mark)])
      let job = try #require(try await queue.claimJobs().first)
      let parameters: [Parameter] = [.int64(job.lease), .int64(job.id.value), .text(Self.mark)]
      for change in Self.failures {
        await expectRefused(queue, Self.fail(change), parameters, for: change.column)
      }
      #expect(try await queue.count("dead") == 0)
      #expect(try await queue.count("attempt_error") == 0)
      #expect(try await queue.number(Self.fail(), parameters) == 1)
    }
  }

  // MARK: Persons and pictures

  @Test("when a person is written down with what is too long or missing")
  func persons() async throws {
    try await with { (queue) async throws in
      for (sql, column) in [
        ("SELECT analysis.add_user(0::smallint, 'p1', NULL, NULL, repeat($1, 16), NULL)", "name of profile"),
        ("SELECT analysis.add_user(0::smallint, 'p1', NULL, NULL, $1, repeat($1, 30))", "email of profile"),
        ("SELECT analysis.add_user(NULL, NULL, NULL, NULL, $1, NULL)", "a user's reference"),
        (
          "SELECT analysis.save_profile(0::smallint, user_id, repeat($1, 16), $1, $1, 1, now()) FROM analysis.account",
          "name"
        ),
        (
          "SELECT analysis.save_profile(0::smallint, user_id, $1, $1, repeat($1, 5), 1, now()) FROM analysis.account",
          "backend_subscription"
        ),
        ("SELECT analysis.set_photo(0::smallint, 'clinic', repeat($1, 160))", "photo_url of profile"),
      ] {
        await expectRefused(queue, sql, [.text(Self.mark)], for: column)
      }
      #expect(try await queue.count("account") == 1)
    }
  }

  /// What a submit says of one job, each with a value that no row can have.
  static let submits: [Change] = [
    Change("kind", "3::smallint"), Change("priority", "-1::smallint"), Change("sha256", "'x'::bytea"),
    Change("sha256", "NULL::bytea"), Change("image", "''::bytea"),
    Change("image", "convert_to(repeat($1, 800000), 'UTF8')"), Change("width", "0"),
    Change("width", "100001"),
    Change("height", "0"), Change("height", "100001"), Change("key", "''"), Change("key", "repeat($1, 16)"),
    Change("source", "repeat($1, 39)"), Change("encrypted_by", "0::bigint"),
    Change("encrypted_by", "NULL::bigint"),
    Change("wrapped_key", "NULL::bytea"), Change("wrapped_key", "'x'::bytea"),
  ]

  private static let submit: [(name: String, value: String)] = [
    ("user", "'clinic'::text"), ("kind", "1::smallint"), ("priority", "1::smallint"),
    ("sha256", "sha256('a')"),
    ("image", "convert_to(repeat($1, 5), 'UTF8')"), ("width", "1"), ("height", "1"),
    ("unsanitized", "NULL::boolean"),
    ("key", "$1"), ("at", "NULL::timestamptz"), ("expires", "NULL::timestamptz"), ("source", "$1"),
    ("max_attempts", ""), ("encrypted_by", "5::bigint"), ("wrapped_key", "decode(repeat('07', 72), 'hex')"),
  ]

  @Test("nor when a picture is submitted that breaks a rule of its table, alone or beside another")
  func submitted() async throws {
    try await with { (queue) async throws in
      for change in Self.submits {
        for count in 1...2 {
          let arguments = Self.submit.map { argument in
            if argument.name == "max_attempts" { return "3::smallint" }
            let bad = argument.name == change.argument ? change.value : argument.value
            let good = argument.name == "key" ? "NULL::text" : argument.value
            return "ARRAY[\(count == 1 ? bad : "\(good), \(bad)")]"
          }
          let reasons = try await queue.texts(
            "SELECT coalesce(o_reason, 'none') FROM analysis.submit(0::smallint, \(arguments.joined(separator: ", ")))",
            [.text(Self.mark)])
          #expect(reasons.last == "bad_argument" && reasons.count == count, "\(change) \(reasons)")
        }
      }
      #expect(try await queue.count("image") == 1)
      // That the log is read is shown by what is refused loudly.
      await expectRefused(
        queue, "SELECT analysis.set_photo(0::smallint, 'clinic', repeat($1, 160))", [.text(Self.mark)],
        for: "photo_url")
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.pool.query(
          """
          SELECT analysis.rewrap_images(0::smallint, period, ARRAY[id], ARRAY[ctid::text], ARRAY[wrapped_key], 7,
            ARRAY['short'::bytea])
          FROM analysis.image
          """)
      }
      #expect(error?.sqlState == "22023")
    }
  }
}
