import PostgreSQL
import TestSupport
import Testing

@Suite("A row")
struct RowTests {
  @Test("is read by position and by name")
  func columns() async throws {
    try await withConnection { connection in
      let rows = try await connection.query(
        "SELECT n AS number, 'row ' || n AS \"The Text\" FROM generate_series(1, $1) AS n", [.int32(3)])
      #expect(rows.columnNames == ["number", "The Text"])
      #expect(try rows.map { try $0.int64("number") } == [1, 2, 3])
      #expect(try rows.map { try $0.string(1) } == ["row 1", "row 2", "row 3"])
      #expect(try rows.last?.string("The Text") == "row 3")
    }
  }

  @Test("widens integers and refuses every other change of type")
  func widening() async throws {
    try await withConnection { connection in
      let row = try await connection.query(
        "SELECT 1::int2, 2::int4, 3::int8, 4::oid, 'x'::name, 'y'::varchar(3), 'z'::\"char\", 1.5::numeric"
      ).single()
      #expect(try (0..<4).map { try row.int(Int($0)) } == [1, 2, 3, 4])
      #expect(try row.int32(0) == 1)
      #expect(try (4..<7).map { try row.string(Int($0)) } == ["x", "y", "z"])
      #expect(await error { try row.int32(2) }?.code == .typeMismatch)
      #expect(await error { try row.double(7) }?.code == .typeMismatch)
      #expect(await error { try row.string(0) }?.code == .typeMismatch)
      #expect(await error { try row.array(0, of: Int64.self) }?.code == .typeMismatch)
      #expect(await error { try row.blob(4) }?.code == .typeMismatch)
    }
  }

  @Test("says which column is missing or NULL, and what columns there are")
  func errors() async throws {
    try await withConnection { connection in
      let row = try await connection.query("SELECT 1 AS one, NULL::text AS two").single()
      let missing = await error { try row.int64("three") }
      #expect(missing?.code == .noSuchColumn)
      #expect(missing?.message == "The answer has no column three; it has: one, two.")
      #expect(await error { try row.int64(2) }?.code == .noSuchColumn)
      #expect(await error { try row.int64(-1) }?.code == .noSuchColumn)
      let null = await error { try row.string("two") }
      #expect(null?.code == .unexpectedNull)
      #expect(try row.stringIfPresent("two") == nil)
      #expect(try row.isNull("two") && !row.isNull("one"))
    }
  }

  @Test("is single when it is the only one")
  func single() async throws {
    try await withConnection { connection in
      for (count, code) in [(0, PostgreSQLError.Code.unexpectedResult), (2, .unexpectedResult)] {
        let rows = try await connection.query("SELECT generate_series(1, $1)", [.int32(Int32(count))])
        #expect(await error { try rows.single() }?.code == code)
      }
    }
  }

  @Test("lends a bytea that outlives the row and the connection")
  func blobs() async throws {
    let bytes = (0..<120_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let blobs = try await withConnection { connection in
      let row = try await connection.query("SELECT $1, ''::bytea, NULL::bytea", [.bytes(bytes)]).single()
      #expect(try row.blobIfPresent(2) == nil)
      return [try row.blob(0), try row.blob(1)]
    }
    #expect(blobs.map(\.count) == [120_000, 0])
    #expect(blobs[0].withUnsafeBytes { $0.elementsEqual(bytes) })
    let addresses = (0..<2).map { _ in blobs[0].withUnsafeBytes { $0.baseAddress } }
    #expect(addresses[0] == addresses[1])
    #expect(Blob(bytes).bytes == bytes)
  }

  @Test("has at hand what the command did")
  func commands() async throws {
    try await withConnection { connection in
      try await connection.execute(
        script: "CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1), (3)")
      let updated = try await connection.query("UPDATE t SET n = n + 1 RETURNING n")
      #expect(updated.affectedRows == 2)
      #expect(updated.command == "UPDATE 2")
      #expect(try await connection.query("DELETE FROM t").affectedRows == 2)
      #expect(try await connection.query("DROP TABLE t").affectedRows == 0)
    }
  }
}
