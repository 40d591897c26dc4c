import PostgreSQL
import QueueTestSupport
import Testing

@Suite("An argument that nobody can mean")
struct ArgumentTests {
  /// The arguments of a call that is right, each of which is replaced in turn.
  struct Call: Sendable, CustomTestStringConvertible {
    let function: String
    let arguments: [String]
    /// By place, what cannot stand there.
    let hostile: [Int: [String]]

    var testDescription: String { function }

    func sql(_ place: Int, _ value: String) -> String {
      var arguments = arguments
      arguments[place] = value
      return "SELECT * FROM analysis.\(function)(\(arguments.joined(separator: ", ")))"
    }
  }

  private static let shard = "0::smallint"
  private static let noShard = ["NULL::smallint"]
  /// A worker's secret, and what is none.
  private static let worker = "sha256('1')"
  private static let noWorker = ["NULL::bytea", "''::bytea", "decode(repeat('01', 31), 'hex')"]
  private static let counts = ["NULL::int", "-1", "2147483647"]
  /// Two elements from place 0, in a second dimension, and one too few.
  private static func lists(_ element: String, _ type: String) -> [String] {
    [
      "'[0:1]={\(element),\(element)}'::\(type)[]", "'{{\(element),\(element)}}'::\(type)[]",
      "'{\(element)}'::\(type)[]",
    ]
  }

  private static let jobLists = lists("1", "bigint") + ["NULL::bigint[]"]
  private static let submit: [(type: String, element: String, isOptional: Bool)] = [
    ("text", "user", false), ("smallint", "1", false), ("smallint", "1", false), ("bytea", "x", false),
    ("bytea", "x", true), ("int", "9", true), ("int", "9", true), ("boolean", "true", true),
    ("text", "key", true), ("timestamptz", "2030-01-01", true), ("timestamptz", "2030-01-01", true),
    ("text", "file", true),
  ]
  private static let purge = ["0::smallint", "24300::smallint", "0", "10", "now()", "true", "false"]
  private static let purging = [
    0: noShard, 1: noShard, 2: ["NULL::bigint"], 3: counts + ["0"], 4: ["NULL::timestamptz"],
    5: ["NULL::boolean"],
  ]

  private static let calls: [Call] = [
    Call(
      function: "submit",
      arguments: [shard] + submit.map { "'{\($0.element),\($0.element)}'::\($0.type)[]" }
        + ["10::smallint", "NULL::bigint[]", "NULL::bytea[]"],
      hostile: Dictionary(
        submit.enumerated().dropFirst().map { place, array in
          (
            place + 1,
            lists(array.element, array.type) + ["'{}'::\(array.type)[]"]
              + (array.isOptional ? [] : ["NULL::\(array.type)[]"])
          )
        } + [
          (0, noShard), (1, ["'[0:1]={user,user}'::text[]"]),
          (13, noShard + ["0::smallint", "101::smallint"]),
          (14, lists("1", "bigint")), (15, lists("x", "bytea")),
        ], uniquingKeysWith: +)),
    Call(
      function: "claim",
      arguments: [
        shard, worker, "100", "'{5,6}'::smallint[]", "'{0,0}'::bigint[]", "'{1,1}'::int[]", "1", "60000",
      ],
      hostile: [
        0: noShard, 1: noWorker, 2: ["NULL::bigint", "-1", "9223372036854775807"],
        3: lists("5", "smallint") + ["'{5,NULL}'::smallint[]", "NULL::smallint[]"],
        4: lists("0", "bigint") + ["'{0,NULL}'::bigint[]", "NULL::bigint[]"],
        5: lists("1", "int") + ["'{1,NULL}'::int[]", "NULL::int[]"], 6: counts,
        7: counts + ["0"],
      ]),
    Call(
      function: "complete",
      arguments: [
        shard, worker, "'{100,100}'::bigint[]", "'{1,2}'::bigint[]", "'{a,a}'::text[]",
        "'{NULL,NULL}'::timestamptz[]", "'{[],[]}'::text[]", "'{0,0}'::smallint[]", "NULL", "NULL", "NULL",
        "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "'{-1,-1}'", "'{-1,-1}'",
        "'{false,false}'", "'{false,false}'", "'{1,1}'::smallint[]", "'{1,1}'::int[]", "NULL", "NULL",
        "'test'",
      ],
      hostile: [
        0: noShard, 1: noWorker, 2: jobLists, 3: jobLists, 4: lists("a", "text"),
        7: lists("0", "smallint"), 18: lists("1", "float8"), 20: lists("true", "boolean"),
        22: lists("1", "smallint"), 25: lists("a", "text"),
      ]),
    Call(
      function: "fail",
      arguments: [
        shard, worker, "'{100,100}'::bigint[]", "'{1,2}'::bigint[]", "'{0,0}'::bigint[]", "'{true,true}'",
        "'{server,server}'::text[]", "NULL", "'{no,no}'::text[]", "NULL", "NULL", "'{1,1}'::smallint[]",
        "'{false,false}'", "NULL",
      ],
      hostile: [
        0: noShard, 1: noWorker, 2: jobLists, 3: jobLists,
        4: lists("0", "bigint") + ["'{0,-1}'::bigint[]", "'{0,9223372036854775807}'::bigint[]"],
        6: lists("server", "text"), 11: lists("1", "smallint"),
      ]),
    Call(
      function: "release", arguments: [shard, worker, "'{100,100}'::bigint[]", "'{1,2}'::bigint[]", "0"],
      hostile: [
        0: noShard, 1: noWorker, 2: jobLists, 3: jobLists, 4: ["-1", "9223372036854775807"],
      ]),
    Call(
      function: "disclaim", arguments: [shard, worker, "100", "2"],
      hostile: [
        0: noShard, 1: noWorker, 2: ["NULL::bigint", "-1", "9223372036854775807"], 3: counts,
      ]),
    Call(
      function: "heartbeat",
      arguments: [shard, worker, "'{100}'::bigint[]", "60000", "'host'", "1", "'test'", "0"],
      hostile: [
        0: noShard, 1: noWorker, 2: ["NULL::bigint[]"], 3: counts + ["0"],
        4: ["NULL::text", "repeat('x', 256)"], 5: counts, 6: ["NULL::text", "repeat('x', 61)"],
        7: counts,
      ]),
    Call(
      function: "record_report", arguments: [shard, worker, "'{}'::jsonb"],
      hostile: [
        0: noShard, 1: noWorker,
        2: ["NULL::jsonb", "'[]'::jsonb", "jsonb_build_object('text', repeat('x', 20000))"],
      ]),
    Call(
      function: "audit_list",
      arguments: ["NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "10"],
      hostile: [8: counts + ["0"]]),
    Call(
      function: "tick", arguments: [shard, "'{5,6}'::smallint[]", "'{0,0}'::bigint[]"],
      hostile: [0: noShard, 1: ["NULL::smallint[]", "'{3,5}'::smallint[]"], 2: ["NULL::bigint[]"]]),
    Call(
      function: "take_turn", arguments: [shard, "'sweep'", "1000"],
      hostile: [
        0: noShard + ["-1::smallint"], 1: ["NULL::text", "'rescue'"], 2: counts + ["0", "3600001"],
      ]),
    Call(function: "promote", arguments: [shard, "10"], hostile: [0: noShard, 1: counts]),
    Call(function: "apply_refunds", arguments: [shard, "10"], hostile: [0: noShard, 1: counts]),
    Call(
      function: "rescue", arguments: [shard, "10", "0"],
      hostile: [0: noShard, 1: counts, 2: ["NULL::int", "-1"]]),
    Call(function: "cancel", arguments: [shard, "'{1}'::bigint[]"], hostile: [0: noShard]),
    Call(function: "retry_dead", arguments: [shard, "'{1}'::bigint[]"], hostile: [0: noShard]),
    Call(
      function: "images_of_jobs",
      arguments: [shard, worker, "24300::smallint", "'{}'::bigint[]", "'{}'::bigint[]"],
      hostile: [
        0: noShard, 1: noWorker, 2: noShard, 3: ["NULL::bigint[]"], 4: ["NULL::bigint[]"],
      ]),
    Call(
      function: "images_of_claim", arguments: [shard, worker, "100", "4", "4", "1000000"],
      hostile: [
        0: noShard, 1: noWorker, 2: ["NULL::bigint", "-1", "9223372036854775807"],
        3: ["NULL::int", "-1", "101"], 4: ["NULL::int", "-1", "1001"], 5: ["NULL::int", "-1"],
      ]),
    Call(function: "purge_images", arguments: purge, hostile: purging),
    Call(function: "purge_results", arguments: purge, hostile: purging),
    Call(
      function: "purge_dead", arguments: [shard, "0", "10", "now()", "true", "false"],
      hostile: [
        0: noShard, 1: ["NULL::bigint"], 2: counts + ["0"], 3: ["NULL::timestamptz"], 4: ["NULL::boolean"],
      ]),
    Call(
      function: "purge_events", arguments: [shard, "10", "now()", "true", "false"],
      hostile: [0: noShard, 1: counts + ["0"], 2: ["NULL::timestamptz"], 3: ["NULL::boolean"]]),
    Call(
      function: "purge_usage", arguments: ["10", "now()", "true", "false"],
      hostile: [0: counts + ["0"], 1: ["NULL::timestamptz"], 2: ["NULL::boolean"]]),
    Call(
      function: "purge_audit", arguments: ["10", "now()", "true", "100"],
      hostile: [
        0: counts + ["0"], 1: ["NULL::timestamptz"], 2: ["NULL::boolean"], 3: ["NULL::bigint"],
      ]),
    Call(
      function: "purge_month", arguments: ["24300::smallint", "now()", "true", "0"],
      hostile: [
        0: noShard, 1: ["NULL::timestamptz"], 2: ["NULL::boolean"], 3: ["NULL::bigint", "-1"],
      ]),
    Call(
      function: "close_usage", arguments: ["24300::smallint", "now()"], hostile: [1: ["NULL::timestamptz"]]),
    Call(
      function: "preview_closing", arguments: ["24300::smallint", "now()"],
      hostile: [0: noShard + ["23999::smallint", "32400::smallint"]]),
    Call(
      function: "erase_user", arguments: [shard, "'nobody'", "NULL::bigint", "true"],
      hostile: [0: noShard, 3: ["NULL::boolean"]]),
    Call(
      function: "erase_part",
      arguments: [shard, "'nobody'", "NULL::bigint", "true", "NULL::smallint", "NULL::bigint", "10"],
      hostile: [0: noShard, 3: ["NULL::boolean"], 4: ["24300::smallint"], 5: ["1"], 6: counts + ["0"]]),
  ]

  @Test("is refused, whichever function gets it, and the others of the same call are not", arguments: calls)
  func refused(_ call: Call) async throws {
    try await withCheckedQueue { queue in
      _ = try await queue.pool.query(call.sql(0, call.arguments[0]))
      for (place, values) in call.hostile {
        for value in values {
          let sql = call.sql(place, value)
          let error = await #expect(throws: PostgreSQLError.self, "\(sql)") {
            try await queue.pool.query(sql)
          }
          #expect(error?.sqlState == "22023", "\(sql): \(error?.message ?? "")")
        }
      }
    }
  }

  /// Only an export that was opened reads images; its arguments are looked at first.
  private static let exportImages = Call(
    function: "export_images", arguments: [shard, "1", "'none'", "24300::smallint", "0", "10"],
    hostile: [0: noShard, 1: ["NULL::bigint"], 3: noShard, 4: ["NULL::bigint"], 5: counts + ["0"]])

  @Test("of a page of an export is refused before it is looked whether the export was opened")
  func exportPage() async throws {
    try await withCheckedQueue { queue in
      for (place, values) in Self.exportImages.hostile {
        for value in values {
          let sql = Self.exportImages.sql(place, value)
          let error = await #expect(throws: PostgreSQLError.self, "\(sql)") {
            try await queue.pool.query(sql)
          }
          #expect(error?.sqlState == "22023", "\(sql): \(error?.message ?? "")")
        }
      }
    }
  }

  @Test(
    "in one job of a submit refuses that job alone", arguments: [0, 3, 8191, 8192, 32767, -32768] as [Int16])
  func kind(_ kind: Int16) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let asks = [Ask("user", image: "one"), Ask("user", kind: kind, image: "two"), Ask("user", kind: 2)]
      #expect(try await queue.submit(asks).map(\.reason) == [nil, "bad_argument", nil])
      #expect(try await queue.submit([asks[1]]).map(\.reason) == ["bad_argument"])
    }
  }

  @Test("is a month more than two years ahead or three years ago, of which no partition is made")
  func months() async throws {
    try await withCheckedQueue { queue in
      let present = try await queue.number("SELECT analysis.period_of(clock_timestamp(), 'UTC')")
      for (from, to) in [
        (present, present + 25), (present + 25, present + 25), (present - 37, present), (24_000, 32_399),
        (-32_768, 32_767),
      ] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await queue.execute("SELECT analysis.ensure_partitions((\(from))::smallint, \(to)::smallint)")
        }
        #expect(error?.sqlState == "22023")
      }
      #expect(
        try await queue.number(
          "SELECT analysis.ensure_partitions(\(present + 24)::smallint, \(present + 24)::smallint)") == 1)
    }
  }

  @Test(
    "is a transaction that keeps an old snapshot: what relies on seeing what others have done refuses it",
    arguments: calls.filter {
      ![
        "heartbeat", "record_report", "tick", "take_turn", "images_of_jobs", "images_of_claim", "audit_list",
        "preview_closing",
      ]
      .contains(
        $0.function)
    })
  func oldSnapshot(_ call: Call) async throws {
    try await withCheckedQueue { queue in
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.pool.transaction(isolation: .repeatableRead) { old in
          _ = try await old.query(call.sql(0, call.arguments[0]))
        }
      }
      #expect(error?.sqlState == "25001")
    }
  }
}
