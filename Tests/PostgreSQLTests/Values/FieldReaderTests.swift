import PostgreSQL
import TestSupport
import Testing

@Suite("A copied row from left to right")
struct FieldReaderTests {
  private static let names = ["small", "large", "real", "yes", "at", "words", "nothing"]
  private static let query = """
    SELECT 7::int2 AS small, 8::int8 AS large, 0.5::float8 AS real, true AS yes,
      '2000-01-01 00:00:01+00'::timestamptz AS at, 'zoë'::text AS words, NULL::text AS nothing
    """

  /// Copies the rows of a query, of which the columns are expected.
  private func copied(
    _ query: String, _ names: [String], on connection: Connection, _ body: (inout FieldReader) throws -> Void
  ) async throws -> Int {
    let columns = try await connection.query("SELECT * FROM (\(query)\n) q LIMIT 0")
    return try await connection.copied(query).forEachRow(try RowLayout(names, of: columns), body)
  }

  @Test("is read in the order of its columns")
  func order() async throws {
    try await withConnection { connection in
      let count = try await copied(Self.query, Self.names, on: connection) { fields in
        let numbers = (try fields.int16(), try fields.int64(), try fields.double())
        let rest = (
          try fields.boolIfPresent(), try fields.timestamp(), try fields.text(), try fields.textIfPresent()
        )
        #expect(numbers == (7, 8, 0.5))
        #expect(rest.0 == true && rest.1 == Timestamp(microsecondsSince2000: 1_000_000))
        #expect(rest.2.string == "zoë" && rest.3 == nil)
        do {
          _ = try fields.int64()
          Issue.record("a column was read that is not there")
        } catch let missing as PostgreSQLError {
          #expect(missing.code == .noSuchColumn)
        }
      }
      #expect(count == 1)
    }
  }

  @Test("comes whole, however many there are, with or without what is not read of them")
  func many() async throws {
    try await withConnection { connection in
      var sum: Int64 = 0
      let query =
        "SELECT g AS n, repeat('x', (g % 300)::int) AS rest FROM generate_series(1::bigint, 100000) g -- all"
      let count = try await copied(query, ["n", "rest"], on: connection) { fields in
        let number = try fields.int64()
        sum += number
        guard number.isMultiple(of: 2) else { return }
        let text = try fields.text()
        #expect(text.count == number % 300)
      }
      #expect(count == 100_000)
      #expect(sum == 5_000_050_000)
      let none = try await copied("SELECT 1 AS n WHERE false", ["n"], on: connection) { _ in }
      #expect(none == 0)
      _ = try await connection.query("SELECT 1").single()
    }
  }

  @Test("stops when the closure throws or the server fails, and the connection goes on")
  func stops() async throws {
    struct Enough: Error {}
    try await withConnection { connection in
      var seen = 0
      await #expect(throws: Enough.self) {
        try await copied("SELECT generate_series(1, 100000) AS n", ["n"], on: connection) { _ in
          seen += 1
          if seen == 10 { throw Enough() }
        }
      }
      #expect(seen == 10)
      _ = try await connection.query("SELECT 1").single()
      let layout = try RowLayout(["n"], of: try await connection.query("SELECT 1 AS n LIMIT 0"))
      let failure = await error { try await connection.copied("SELECT 1/0 AS n").forEachRow(layout) { _ in } }
      #expect(failure?.sqlState == "22012")
      _ = try await connection.query("SELECT 1").single()
    }
  }

  @Test("has the columns that are expected, in their order")
  func layout() async throws {
    try await withConnection { connection in
      let rows = try await connection.query("SELECT 1 AS one, 2 AS two LIMIT 0")
      #expect(await error { try RowLayout(["two", "one"], of: rows) }?.code == .noSuchColumn)
      #expect(await error { try RowLayout(["one", "two", "three"], of: rows) }?.code == .noSuchColumn)
      let missing = await error { try RowLayout(["one"], of: rows) }
      #expect(missing?.message == "The answer has the columns one, two where one were expected.")
      let other = await error {
        try await connection.copied("SELECT 1, 2, 3").forEachRow(try RowLayout(["one", "two"], of: rows)) {
          _ in
        }
      }
      #expect(other?.code == .unexpectedResult)
    }
  }

  @Test("says which column is of another type or NULL")
  func errors() async throws {
    try await withConnection { connection in
      let query = "SELECT 1 AS one, NULL::text AS two, '' AS three"
      _ = try await copied(query, ["one", "two", "three"], on: connection) { fields in
        do {
          _ = try fields.text()
          Issue.record("a number was read as a text")
        } catch let mismatch as PostgreSQLError {
          #expect(mismatch.code == .typeMismatch)
          #expect(mismatch.message.contains("column one"))
        }
        do {
          _ = try fields.text()
          Issue.record("a NULL was read as a text")
        } catch let null as PostgreSQLError {
          #expect(null.code == .unexpectedNull)
          #expect(null.message == "The answer's column two is NULL.")
        }
        let empty = try fields.text()
        #expect(empty.count == 0 && empty.string == "" && empty.isASCII)
      }
    }
  }

  @Test("lends texts that outlive the row and the connection")
  func texts() async throws {
    let texts = try await withConnection { connection in
      var texts: [BorrowedText] = []
      _ = try await copied("SELECT 'plain' AS a, 'zoë' AS b, 'plain' AS c", ["a", "b", "c"], on: connection) {
        texts = [try $0.text(), try $0.text(), try $0.text()]
      }
      return texts
    }
    #expect(texts.map(\.string) == ["plain", "zoë", "plain"])
    #expect(texts.map(\.count) == [5, 4, 5])
    #expect(texts.map(\.isASCII) == [true, false, true])
    #expect(texts[0] == texts[2] && texts[0] != texts[1])
  }
}
