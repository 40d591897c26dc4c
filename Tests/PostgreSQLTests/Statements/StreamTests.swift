import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Rows one by one")
struct StreamTests {
  private struct Enough: Error {}

  @Test("come in order and complete, however many")
  func many() async throws {
    try await withConnection { connection in
      var next = 1
      let count = try await connection.forEachRow("SELECT generate_series(1, 20000)") { row in
        if try row.int(0) == next { next += 1 }
      }
      #expect(count == 20_000)
      #expect(next == 20_001)
      #expect(try await connection.forEachRow("SELECT 1 WHERE false") { _ in } == 0)
      #expect(try await connection.forEachRow("CREATE TABLE t (n int)") { _ in } == 0)
    }
  }

  @Test("are handed over in batches too, each with some, whole and in order, until the server's error")
  func batches() async throws {
    try await withConnection { connection in
      let statement = SQLStatement("SELECT generate_series(1, 20000)")
      var numbers: [Int] = []
      var sizes: [Int] = []
      let count = try await connection.forEachBatch(statement) { rows in
        sizes.append(rows.count)
        numbers += try rows.map { try $0.int(0) }
      }
      #expect(count == 20_000)
      #expect(numbers == Array(1...20_000))
      #expect(sizes.allSatisfy { (1..<1000).contains($0) })
      #expect(try await connection.forEachBatch(SQLStatement("SELECT 1 WHERE false")) { _ in } == 0)

      let failing = SQLStatement("SELECT 1 / (n - 1000) FROM generate_series(1, 2000) n")
      let error = await #expect(throws: PostgreSQLError.self) {
        try await connection.forEachBatch(failing) { _ in }
      }
      #expect(error?.sqlState == "22012")
      await #expect(throws: Enough.self) {
        try await connection.forEachBatch(SQLStatement("SELECT generate_series(1, 100000000)")) { _ in
          throw Enough()
        }
      }
      #expect(try await connection.query("SELECT 1").single().int(0) == 1)
    }
  }

  @Test("are borrowed with their images, which may be kept")
  func images() async throws {
    try await withConnection { connection in
      try await connection.execute(
        script: """
          CREATE TABLE image (id int, bytes bytea);
          ALTER TABLE image ALTER bytes SET STORAGE EXTERNAL;
          INSERT INTO image SELECT n, decode(repeat(lpad(to_hex(n), 2, '0'), 120000), 'hex')
          FROM generate_series(1, 50) AS n
          """)
      var blobs: [Int: Blob] = [:]
      try await connection.forEachRow(
        "SELECT id, bytes FROM image WHERE id = ANY($1)", [.array((1...50).map { Int32($0) })]
      ) { row in
        blobs[try row.int(0)] = try row.blob(1)
      }
      #expect(blobs.count == 50)
      for (id, blob) in blobs {
        #expect(blob.count == 120_000)
        #expect(blob.withUnsafeBytes { $0.allSatisfy { $0 == UInt8(id) } })
      }
    }
  }

  @Test("stop when the closure throws, and the connection is usable")
  func thrown() async throws {
    try await withConnection { connection in
      for after in [1, 2, 255, 256, 257, 1000] {
        var seen = 0
        await #expect(throws: Enough.self) {
          try await connection.forEachRow("SELECT generate_series(1, 100000000)") { _ in
            seen += 1
            if seen == after { throw Enough() }
          }
        }
        #expect(seen == after)
        let found = try await connection.query("SELECT 1").single().int(0)
        #expect(found == 1)
      }
    }
  }

  @Test("are not read ahead of a slow reader")
  func backPressure() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      var waited = false
      await #expect(throws: Enough.self) {
        try await connection.forEachRow(
          "SELECT repeat('x', 100000) FROM generate_series(1, 2000)", deadline: patience
        ) { _ in
          guard !waited else { throw Enough() }
          waited = true
          // The server has 200 MB to send, and must come to wait for us.
          while try await observer.query(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'ClientWrite'",
            [.int32(connection.backendPID)]
          ).single().int(0) == 0 { await Task.yield() }
        }
      }
      #expect(waited)
      #expect(try await connection.query("SELECT 1").single().int(0) == 1)
    }
  }

  @Test("end with the server's error after the rows before it")
  func failing() async throws {
    try await withConnection { connection in
      var last = 0
      let failure = await error {
        try await connection.forEachRow("SELECT n, 1 / (500 - n) FROM generate_series(1, 1000) AS n") { row in
          last = try row.int(0)
        }
      }
      #expect(failure?.sqlState == "22012")
      #expect(last == 499)
      let found = try await connection.query("SELECT 1").count
      #expect(found == 1)
    }
  }

  @Test("end with the deadline or the task's cancellation")
  func interrupted() async throws {
    try await withConnection { connection in
      let endless = "SELECT n, pg_sleep(0.001) FROM generate_series(1, 100000000) AS n"
      let late = await error {
        try await connection.forEachRow(endless, deadline: .milliseconds(50)) { _ in }
      }
      #expect(late?.code == .deadlineExceeded)
      let task = Task {
        await error {
          try await connection.forEachRow("SELECT generate_series(1, 100000000)") { _ in
            withUnsafeCurrentTask { $0?.cancel() }
          }
        }
      }
      #expect(await task.value?.code == .cancelled)
      let found = try await connection.query("SELECT 1").single().int(0)
      #expect(found == 1)
    }
  }
}
