import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A pipeline")
struct PipelineTests {
  private func insert(_ number: Int32) -> SQLStatement {
    SQLStatement("INSERT INTO t VALUES ($1) RETURNING n", [.int32(number)], label: "insert \(number)")
  }

  private func withTable(_ body: (Connection) async throws -> Void) async throws {
    try await withConnection { connection in
      try await connection.execute(
        script: "CREATE TABLE t (n int, CONSTRAINT late UNIQUE (n) DEFERRABLE INITIALLY DEFERRED)")
      try await body(connection)
    }
  }

  private func stored(_ connection: Connection) async throws -> [Int] {
    try await connection.query("SELECT n FROM t ORDER BY n").map { try $0.int(0) }
  }

  @Test("answers its statements in order")
  func order() async throws {
    try await withTable { connection in
      let results = try await connection.pipeline((0..<100).map { insert($0) })
      #expect(try results.map { try $0.get().single().int(0) } == Array(0..<100))
      #expect(try await stored(connection) == Array(0..<100))
      #expect(try await connection.pipeline([]).isEmpty)
    }
  }

  @Test("loses only the statement that failed")
  func failure() async throws {
    try await withTable { connection in
      let results = try await connection.pipeline([
        insert(1), SQLStatement("SELECT 1 / 0", label: "bad"), insert(2), SQLStatement("SELEC"), insert(3),
      ])
      #expect(results.map { (try? $0.get()) != nil } == [true, false, true, false, true])
      let failure = await error { try results[1].get() }
      #expect(failure?.sqlState == "22012")
      #expect(failure?.statement == "bad")
      #expect(try await stored(connection) == [1, 2, 3])
      #expect(connection.isUsable)
    }
  }

  @Test("does not call a statement done whose commit failed")
  func commit() async throws {
    try await withTable { connection in
      let results = try await connection.pipeline([insert(1), insert(1), insert(2)])
      #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
      #expect(await error { try results[1].get() }?.constraint == "late")
      #expect(try await stored(connection) == [1, 2])
      let atomic = try await connection.pipeline([insert(3), insert(1)], atomic: true)
      #expect(atomic.allSatisfy { (try? $0.get()) == nil })
      #expect(try await stored(connection) == [1, 2])
    }
  }

  @Test("as one group is undone whole, and what follows the error is not run")
  func atomic() async throws {
    try await withTable { connection in
      let results = try await connection.pipeline(
        [insert(1), SQLStatement("SELECT 1 / 0"), insert(2)], atomic: true)
      #expect(await error { try results[1].get() }?.sqlState == "22012")
      #expect(await error { try results[2].get() }?.code == .aborted)
      #expect(try await stored(connection).isEmpty)
      _ = try await connection.pipeline([insert(1), insert(2)], atomic: true)
      #expect(try await stored(connection) == [1, 2])
    }
  }

  @Test("carries more than the socket holds in both directions at once")
  func large() async throws {
    try await withConnection { connection in
      let bytes = [UInt8](repeating: 7, count: 400_000)
      let results = try await connection.pipeline(
        (0..<30).map { _ in SQLStatement("SELECT $1", [.bytes(bytes)]) })
      for result in results { #expect(try result.get().single().blob(0).count == 400_000) }
    }
  }

  @Test("ends at its deadline, and says of each statement what became of it")
  func deadline() async throws {
    try await withTable { connection in
      let sleep = SQLStatement("SELECT pg_sleep(600)")
      let results = try await connection.pipeline(
        [insert(1), sleep, sleep, insert(2)], deadline: .seconds(5))
      #expect((try? results[0].get()) != nil)
      #expect(await error { try results[1].get() }?.code == .deadlineExceeded)
      #expect(await error { try results[2].get() }?.code == .deadlineExceeded)
      #expect(connection.isUsable)
      #expect(try await stored(connection).first == 1)
    }
  }

  @Test("whose connection is lost keeps the answers that came")
  func loss() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      async let results = connection.pipeline([
        SQLStatement("SELECT 1"), SQLStatement("SELECT pg_sleep(600)"), SQLStatement("SELECT 2"),
      ])
      try await waitUntilRunning("pg_sleep", on: connection.backendPID, observer)
      _ = try await observer.query("SELECT pg_terminate_backend($1)", [.int32(connection.backendPID)])
      let answers = try await results
      #expect(try answers[0].get().single().int(0) == 1)
      for answer in answers[1...] {
        let failure = await error { try answer.get() }
        #expect(failure?.code == .connectionLost)
        #expect(failure?.sqlState == "57P01")
        #expect(failure?.mayHaveTakenEffect == true)
      }
    }
  }
}
