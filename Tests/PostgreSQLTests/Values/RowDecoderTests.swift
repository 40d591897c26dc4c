import PostgreSQL
import TestSupport
import Testing

@Suite("A row that is decoded")
struct RowDecoderTests {
  private struct Number: ColumnValue, Equatable {
    let value: Int64

    init(stored: Int64) { value = stored }
  }

  private enum Colour: String, ColumnValue { case red, green }

  private struct Inner: RenamedColumns, Equatable {
    static let columns = ["title": "label"]

    let title: String
    let urlOfB: String?
  }

  private struct Whole: Decodable, Equatable {
    let number: Number
    let isSmall: Bool
    let count: Int
    let share: Double
    let createdAt, endedAt: Double?
    let photoURL: String
    let userSHA256: [UInt8]
    let colour: Colour
    let past: [Colour]
    let numbers: [Number]?
    let detail: String
    let inner: Inner
    let shard: Int16
    let missing: Int?
  }

  private static let whole = """
    SELECT 7::bigint AS o_number, true AS o_is_small, 3::smallint AS o_count, 0.5::float8 AS o_share,
      '1970-01-01 00:00:01.5Z'::timestamptz AS o_created_at, NULL::timestamptz AS o_ended_at,
      'x'::text AS photo_url, '\\x0102'::bytea AS o_user_sha256, 'green'::text AS o_colour,
      '{red,green}'::text[] AS o_past, NULL::bigint[] AS o_numbers, '{"a": 1}'::jsonb AS o_detail,
      'the title'::text AS o_label, NULL::text AS o_url_of_b
    """

  @Test("gives each property the column of its name, with or without the prefix")
  func whole() async throws {
    try await withConnection { connection in
      let rows = try await connection.query(Self.whole)
      let whole = try rows.decode([Whole].self, prefix: "o_", beside: ["shard": 4 as Int16, "missing": nil])
      #expect(
        whole == [
          Whole(
            number: Number(stored: 7), isSmall: true, count: 3, share: 0.5, createdAt: 1.5, endedAt: nil,
            photoURL: "x", userSHA256: [1, 2], colour: .green, past: [.red, .green], numbers: nil,
            detail: "{\"a\": 1}", inner: Inner(title: "the title", urlOfB: nil), shard: 4, missing: nil)
        ])
      #expect(try rows.single().decode(Inner.self, prefix: "o_") == whole[0].inner)
    }
  }

  @Test("may be every row, the first one or the only one, and a value of a row's only column")
  func answers() async throws {
    try await withConnection { connection in
      let three = try await connection.query("SELECT generate_series(1, 3)::bigint AS n")
      #expect(try three.decode([Int].self, prefix: "") == [1, 2, 3])
      #expect(try three.decode(Number?.self, prefix: "") == Number(stored: 1))
      #expect(await error { try three.decode(Int.self, prefix: "") }?.code == .unexpectedResult)
      let none = try await connection.query("SELECT 1 AS n WHERE false")
      #expect(try none.decode([Int].self, prefix: "") == [])
      #expect(try none.decode(Int?.self, prefix: "") == nil)
      let bytes = try await connection.query("SELECT '\\x05'::bytea, NULL::text AS other")
      #expect(await error { try bytes.decode([UInt8].self, prefix: "") }?.code == .unexpectedResult)
      let null = try await connection.query("SELECT NULL::bytea AS lack")
      #expect(try null.decode([UInt8]?.self, prefix: "") == nil)
      #expect(
        await error { try null.decode([UInt8].self, prefix: "") }?.message
          == "The answer's column lack is NULL.")
    }
  }

  @Test("says which column is missing, NULL, or of another type, and what no value is")
  func errors() async throws {
    struct Pair: Decodable {
      let one: Int
      let twoWords: String?
    }
    struct Colours: Decodable { let colour: Colour }
    struct Listed: Decodable { let list: [[Int]] }
    try await withConnection { connection in
      func failure(_ sql: String) async -> PostgreSQLError? {
        await error { try await connection.query(sql).decode(Pair.self, prefix: "o_") }
      }
      let missing = await failure("SELECT 1 AS o_one")
      #expect(missing?.code == .noSuchColumn)
      #expect(missing?.message == "The answer has no column two_words; it has: o_one.")
      let null = await failure("SELECT NULL::int AS o_one, ''::text AS o_two_words")
      #expect(null?.code == .unexpectedNull)
      #expect(null?.message == "The answer's column o_one is NULL.")
      let other = await failure("SELECT 1 AS o_one, 2 AS o_two_words")
      #expect(other?.code == .typeMismatch)
      #expect(other?.message.contains("column o_two_words") == true)
      #expect(other?.message.contains("String") == true)
      let unknown = await #expect(throws: UnknownValue.self) {
        _ = try await connection.query("SELECT 'blue'::text AS colour").decode(Colours.self, prefix: "")
      }
      #expect(unknown?.what == "Colour" && unknown?.value == "blue")
      let nested = await error {
        try await connection.query("SELECT '{1}'::int[] AS list").decode(Listed.self, prefix: "")
      }
      #expect(nested?.code == .misuse)
    }
  }
}
