import PostgreSQL
import TestSupport
import Testing

@Suite("A row from left to right")
struct FieldReaderTests {
  private static let names = ["small", "large", "real", "yes", "at", "words", "nothing"]
  private static let statement = """
    SELECT 7::int2 AS small, 8::int8 AS large, 0.5::float8 AS real, true AS yes,
      '2000-01-01 00:00:01+00'::timestamptz AS at, 'zoë'::text AS words, NULL::text AS nothing
    """

  @Test("is read in the order of its columns")
  func order() async throws {
    try await withConnection { connection in
      let row = try await connection.query(Self.statement).single()
      var fields = FieldReader(row, try RowLayout(Self.names, of: row))
      #expect(try fields.int16() == 7)
      #expect(try fields.int64() == 8)
      #expect(try fields.double() == 0.5)
      #expect(try fields.boolIfPresent() == true)
      #expect(try fields.timestamp() == Timestamp(microsecondsSince2000: 1_000_000))
      #expect(try fields.text().string == "zoë")
      #expect(try fields.textIfPresent() == nil)
      #expect(await error { try fields.int64() }?.code == .noSuchColumn)
    }
  }

  @Test("has the columns that are expected, in their order")
  func layout() async throws {
    try await withConnection { connection in
      let row = try await connection.query("SELECT 1 AS one, 2 AS two").single()
      #expect(await error { try RowLayout(["two", "one"], of: row) }?.code == .noSuchColumn)
      #expect(await error { try RowLayout(["one", "two", "three"], of: row) }?.code == .noSuchColumn)
      let missing = await error { try RowLayout(["one"], of: row) }
      #expect(missing?.message == "The answer has the columns one, two where one were expected.")
    }
  }

  @Test("says which column is of another type or NULL")
  func errors() async throws {
    try await withConnection { connection in
      let row = try await connection.query("SELECT 1 AS one, NULL::text AS two, '' AS three").single()
      var fields = FieldReader(row, try RowLayout(["one", "two", "three"], of: row))
      let mismatch = await error { try fields.text() }
      #expect(mismatch?.code == .typeMismatch)
      #expect(mismatch?.message.contains("column one") == true)
      let null = await error { try fields.text() }
      #expect(null?.code == .unexpectedNull)
      #expect(null?.message == "The answer's column two is NULL.")
      let empty = try fields.text()
      #expect(empty.count == 0 && empty.string == "" && empty.isASCII)
    }
  }

  @Test("lends texts that outlive the row and the connection")
  func texts() async throws {
    let texts = try await withConnection { connection in
      let row = try await connection.query("SELECT 'plain' AS a, 'zoë' AS b, 'plain' AS c").single()
      var fields = FieldReader(row, try RowLayout(["a", "b", "c"], of: row))
      return [try fields.text(), try fields.text(), try fields.text()]
    }
    #expect(texts.map(\.string) == ["plain", "zoë", "plain"])
    #expect(texts.map(\.count) == [5, 4, 5])
    #expect(texts.map(\.isASCII) == [true, false, true])
    #expect(texts[0] == texts[2] && texts[0] != texts[1])
  }
}
