import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A statement that is repeated")
struct RepeatedStatementTests {
  private func double(_ number: Int32) -> SQLStatement {
    SQLStatement("SELECT $1 * 2", [.int32(number)], isRepeated: true)
  }

  private func kept(_ connection: Connection) async throws -> [String] {
    try await connection.query("SELECT statement FROM pg_prepared_statements ORDER BY 1").map {
      try $0.string(0)
    }
  }

  @Test("is kept by the server from the third time on, and answers the same")
  func third() async throws {
    try await withConnection { connection in
      for number in 1...6 as ClosedRange<Int32> {
        #expect(try await connection.query(double(number)).single().int(0) == Int(number) * 2)
        #expect(try await kept(connection) == (number < 3 ? [] : ["SELECT $1 * 2"]))
      }
      for _ in 1...6 { _ = try await connection.query("SELECT 1") }
      #expect(try await kept(connection).count == 1, "others are not")
    }
  }

  @Test("is kept in pipelines and streams too, and for each set of types by itself")
  func everywhere() async throws {
    try await withConnection { connection in
      for _ in 1...4 {
        let results = try await connection.pipeline([double(1), double(2)])
        #expect(try results.map { try $0.get().single().int(0) } == [2, 4])
      }
      #expect(try await kept(connection).count == 1)
      for _ in 1...4 {
        let wide = SQLStatement("SELECT $1 * 2", [.int64(4_000_000_000)], isRepeated: true)
        #expect(try await connection.query(wide).single().int(0) == 8_000_000_000)
      }
      #expect(try await kept(connection).count == 2)
      for count in 1...4 as ClosedRange<Int32> {
        var rows = 0
        let stream = SQLStatement("SELECT generate_series(1, $1)", [.int32(count * 1000)], isRepeated: true)
        try await connection.forEachRow(stream) { _ in rows += 1 }
        #expect(rows == Int(count) * 1000)
      }
      #expect(try await kept(connection).count == 3)
    }
  }

  @Test("answers anew when what it answers has changed")
  func changed() async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
      let all = SQLStatement("SELECT * FROM t", [], isRepeated: true)
      for _ in 1...4 { #expect(try await connection.query(all).single().int(0) == 1) }
      try await connection.execute(script: "ALTER TABLE t ALTER a TYPE bigint, ADD b text DEFAULT 'new'")
      let row = try await connection.query(all).single()
      #expect(try row.int64(0) == 1)
      #expect(try row.string(1) == "new")
    }
  }

  @Test("that somebody took from the server is sent whole again")
  func taken() async throws {
    try await withConnection { connection in
      for number in 1...4 as ClosedRange<Int32> { _ = try await connection.query(double(number)) }
      try await connection.execute(script: "DEALLOCATE ALL")
      #expect(try await connection.query(double(5)).single().int(0) == 10)
      let results = try await connection.pipeline([double(6), double(7)])
      #expect(try results.map { try $0.get().single().int(0) } == [12, 14])
    }
  }

  @Test("undoes no transaction by being kept, and shows its fault as it would otherwise")
  func transaction() async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (a int)")
      try await connection.transaction { transaction in
        for number in 1...5 as ClosedRange<Int32> { _ = try await transaction.query(double(number)) }
        _ = try await transaction.query("INSERT INTO t VALUES (1)")
      }
      #expect(try await connection.query("SELECT count(*) FROM t").single().int(0) == 1)
      #expect(try await kept(connection) == [])
      for _ in 1...4 {
        let wrong = await error { try await connection.query(SQLStatement("SELEC", isRepeated: true)) }
        #expect(wrong?.sqlState == "42601")
      }
      #expect(connection.isUsable)
    }
  }

  @Test("has a bound: what is new beyond it is sent whole")
  func bound() async throws {
    try await withConnection { connection in
      for number in 1...200 {
        let own = SQLStatement("SELECT \(number)", [], isRepeated: true)
        for _ in 1...3 {
          let answer = try await connection.query(own).single().int(0)
          #expect(answer == number)
        }
      }
      let count = try await kept(connection).count
      #expect(count == 64)
    }
  }
}
