import PostgreSQL
import TestSupport
import Testing

@Suite("Values")
struct ValueTests {
  private func roundTrip<T: SQLScalar & Equatable>(_ values: [T], _ make: (T?) -> Parameter) async throws {
    try await withConnection { connection in
      for value in values {
        let row = try await connection.query("SELECT $1", [make(value)]).single()
        #expect(try row.value(0, as: T.self) == value)
      }
      let null = try await connection.query("SELECT $1, $2", [make(nil), .null(T.self)]).single()
      #expect(try null.valueIfPresent(0, as: T.self) == nil)
      #expect(try null.isNull(1))
      let optional: [T?] = values.map(Optional.some) + [nil]
      let arrays = try await connection.query(
        "SELECT $1, $2, $3, $4",
        [.array(values), .array(optional), .array([T]()), .nullArray(of: T.self)]
      ).single()
      #expect(try arrays.array(0, of: T.self) == values)
      #expect(try arrays.nullableArray(1, of: T.self) == optional)
      #expect(try arrays.array(2, of: T.self).isEmpty)
      #expect(try arrays.arrayIfPresent(3, of: T.self) == nil)
      #expect(await error { try arrays.array(1, of: T.self) }?.code == .unexpectedNull)
    }
  }

  @Test("of boolean go there and back, in arrays and as NULL")
  func booleans() async throws {
    try await roundTrip([true, false], Parameter.bool)
  }

  @Test("of smallint go there and back, in arrays and as NULL")
  func smallIntegers() async throws {
    try await roundTrip([Int16.min, -1, 0, 1, .max], Parameter.int16)
  }

  @Test("of integer go there and back, in arrays and as NULL")
  func integers() async throws {
    try await roundTrip([Int32.min, -1, 0, 1, .max], Parameter.int32)
  }

  @Test("of bigint go there and back, in arrays and as NULL")
  func bigIntegers() async throws {
    try await roundTrip([Int64.min, -1, 0, 1, 1 << 53, .max], Parameter.int64)
  }

  @Test("of double precision go there and back, the infinities among them")
  func doubles() async throws {
    try await roundTrip(
      [0, -0.1, 0.7999999999999999, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude],
      Parameter.double)
    try await withConnection { connection in
      let row = try await connection.query("SELECT $1, -0.0::float8, 1.5::float4", [.double(.nan)]).single()
      #expect(try row.double(0).isNaN)
      #expect(try row.double(1).sign == .minus)
      #expect(try row.double(2) == 1.5)
    }
  }

  @Test("of text go there and back, whatever the script")
  func texts() async throws {
    try await roundTrip(
      ["", " ", "O'Brien \"\\", "Żółć", "診断", "👩🏽‍⚕️", "e\u{301}", "{a,NULL}", "line\r\n\ttab"], Parameter.text)
  }

  @Test("of bytea go there and back, below and above the size that is borrowed to libpq")
  func bytes() async throws {
    let all = (0...255).map { UInt8($0) }
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await roundTrip([[], [0], all, Array(large[..<1023]), Array(large[..<1024]), large], Parameter.bytes)
  }

  @Test("of timestamptz go there and back, the infinities among them")
  func timestamps() async throws {
    try await roundTrip(
      [
        Timestamp(secondsSince1970: 0), Timestamp(secondsSince1970: 1_792_000_000.123456),
        Timestamp(microsecondsSince2000: -1), .infinity, .negativeInfinity,
      ], Parameter.timestamp)
  }

  @Test("of jsonb go there as text and come back as the server writes them")
  func json() async throws {
    try await withConnection { connection in
      let row = try await connection.query(
        "SELECT $1, $2, '{\"a\":  1}'::json, $3",
        [
          .jsonb("{\"b\": [1, null], \"a\": \"é\"}"), .jsonb(nil),
          .array([JSONText("{}"), nil]),
        ]
      ).single()
      #expect(try row.jsonText(0) == "{\"a\": \"é\", \"b\": [1, null]}")
      #expect(try row.jsonTextIfPresent(1) == nil)
      #expect(try row.jsonText(2) == "{\"a\":  1}")
      #expect(try row.nullableArray(3, of: JSONText.self) == [JSONText("{}"), nil])
    }
  }

  @Test("are what the server takes them for")
  func serverSide() async throws {
    try await withConnection { connection in
      let row = try await connection.query(
        """
        SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text,
          pg_typeof($8)::text, pg_typeof($9)::text
        """,
        [
          .int64(-5_000_000_000), .double(0.1), .bytes([0, 255]), .array([Int16(1), nil, 3]),
          .array(["a", nil, ""]), .timestamp(Timestamp(secondsSince1970: 1_767_225_600.5)), .array([true]),
          .jsonb("1"), .array([[UInt8]]()),
        ]
      ).single()
      let texts = try (0..<9).map { try row.string($0) }
      #expect(
        texts == [
          "-5000000000", "0.1", "\\x00ff", "{1,NULL,3}", "{a,NULL,\"\"}", "2026-01-01 00:00:00.5+00", "{t}",
          "jsonb", "bytea[]",
        ])
    }
  }

  @Test("find the function of their types, not of a wider one")
  func overloads() async throws {
    try await withConnection { connection in
      try await connection.execute(
        script: """
          CREATE FUNCTION width(smallint) RETURNS text LANGUAGE sql AS $$ SELECT 'smallint' $$;
          CREATE FUNCTION width(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'bigint' $$;
          """)
      #expect(try await connection.query("SELECT width($1)", [.int16(1)]).single().string(0) == "smallint")
      #expect(try await connection.query("SELECT width($1)", [.int64(1)]).single().string(0) == "bigint")
      #expect(try await connection.query("SELECT $1, $2, $3", ["a", true, 0.5]).single().columnCount == 3)
    }
  }
}
