import PostgreSQL
import TestSupport
import Testing

@Suite("An error of the server")
struct ServerErrorTests {
  @Test("carries the code, the constraint and the table, and no value")
  func constraint() async throws {
    try await withConnection { connection in
      try await connection.execute(
        script: "CREATE TABLE person (email text CONSTRAINT one_email UNIQUE, age int CHECK (age > 0))")
      let insert = "INSERT INTO person VALUES ($1, $2)"
      _ = try await connection.query(insert, ["ann@clinic.example", .int32(30)])
      for parameters in [["ann@clinic.example", .int32(30)], ["bob@clinic.example", .int32(-7_777)]]
        as [[Parameter]]
      {
        let failure = try #require(await error { try await connection.query(insert, parameters) })
        #expect(failure.code == .server)
        #expect(failure.table == "person")
        #expect(failure.constraint == (failure.sqlState == "23505" ? "one_email" : "person_age_check"))
        #expect(failure.isDataError && !failure.isTransient && !failure.isConnectionLoss)
        #expect(failure.detail == nil)
        let text = "\(failure) \(String(reflecting: failure))"
        #expect(!text.contains("clinic.example") && !text.contains("7777"))
        #expect(text.contains("INSERT INTO person"))
      }
    }
  }

  @Test("that quotes the value it cannot take does not show it")
  func invalidValue() async throws {
    try await withConnection { connection in
      let failure = try #require(
        await error { try await connection.query("SELECT $1::text::int", ["ann@clinic.example"]) })
      #expect(failure.sqlState == "22P02")
      #expect(failure.isDataError)
      #expect(failure.message == "invalid input syntax for type integer: \"…\"")
    }
  }

  @Test("names the functions in which it happened, and its statement's label")
  func context() async throws {
    try await withConnection { connection in
      try await connection.execute(
        script: """
          CREATE FUNCTION refuse() RETURNS int LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = 'AQ001', HINT = 'tomorrow', DETAIL = 'x@y'; END $$
          """)
      let failure = try #require(
        await error { try await connection.query(SQLStatement("SELECT refuse()", label: "refusing")) })
      #expect(failure.sqlState == "AQ001")
      #expect(failure.message == "not today")
      #expect(failure.hint == "tomorrow")
      #expect(failure.detail == nil)
      #expect(failure.context?.hasPrefix("PL/pgSQL function refuse() line 1") == true)
      #expect(failure.description.hasPrefix("refusing: not today (SQLSTATE AQ001)"))
    }
  }

  @Test(
    "of a right that is missing, and of a schema that is, is judged in one file",
    arguments: ["42501", "42883"])
  func onePlace(state: String) throws {
    #expect(try sources(with: "\"\(state)\"") == ["PostgreSQL/PostgreSQLError.swift"])
  }

  @Test("leaves the connection usable")
  func usable() async throws {
    try await withConnection { connection in
      for sql in ["SELEC 1", "SELECT 1/0", "SELECT * FROM nowhere", ""] {
        _ = await error { try await connection.query(sql) }
        let next = try await connection.query("SELECT 7")
        #expect(try next.single().int(0) == 7)
      }
    }
  }
}
