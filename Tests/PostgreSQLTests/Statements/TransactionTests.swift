import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A transaction")
struct TransactionTests {
  private struct Undo: Error {}

  private func withTable(_ body: (Connection) async throws -> Void) async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (n int)")
      try await body(connection)
    }
  }

  private func count(_ database: some Queryable) async throws -> Int {
    try await database.query("SELECT count(*) FROM t").single().int(0)
  }

  @Test("is committed when its closure returns and undone when it throws")
  func ends() async throws {
    try await withTable { connection in
      let seen = try await connection.transaction { transaction in
        _ = try await transaction.query("INSERT INTO t VALUES (1)")
        return try await self.count(transaction)
      }
      #expect(seen == 1)
      await #expect(throws: Undo.self) {
        try await connection.transaction { transaction in
          _ = try await transaction.query("INSERT INTO t VALUES (2)")
          throw Undo()
        }
      }
      #expect(try await count(connection) == 1)
    }
  }

  @Test("with a failed statement that nobody minded is not called committed")
  func swallowed() async throws {
    try await withTable { connection in
      let failure = await error {
        try await connection.transaction { transaction in
          _ = try await transaction.query("INSERT INTO t VALUES (1)")
          _ = try? await transaction.query("SELECT 1 / 0")
        }
      }
      #expect(failure?.code == .commitFailed)
      let found = try await count(connection)
      #expect(found == 0)
    }
  }

  @Test("keeps others out until it ends, and is of no use afterwards")
  func exclusive() async throws {
    try await withTable { connection in
      var escaped: Transaction?
      async let outside: Int = {
        // Starts inside the transaction's time, is answered after its end.
        try await connection.query("SELECT count(*) FROM t").single().int(0)
      }()
      try await connection.transaction { transaction in
        escaped = transaction
        for number in Int32(0)..<20 {
          _ = try await transaction.query("INSERT INTO t VALUES ($1)", [.int32(number)])
        }
      }
      #expect([0, 20].contains(try await outside))
      let over = try #require(escaped)
      #expect(await error { try await over.query("SELECT 1") }?.code == .misuse)
    }
  }

  @Test("has the isolation and the access that were asked for")
  func modes() async throws {
    try await withTable { connection in
      for (level, name) in [
        (IsolationLevel.readCommitted, "read committed"), (.repeatableRead, "repeatable read"),
        (.serializable, "serializable"),
      ] {
        let isolation = try await connection.transaction(isolation: level, readOnly: true) {
          try await $0.query("SHOW transaction_isolation").single().string(0)
        }
        #expect(isolation == name)
      }
      let failure = await error {
        try await connection.transaction(readOnly: true) { try await $0.query("INSERT INTO t VALUES (1)") }
      }
      #expect(failure?.sqlState == "25006")
    }
  }

  @Test("undoes a savepoint's part alone")
  func savepoint() async throws {
    try await withTable { connection in
      try await connection.transaction { transaction in
        _ = try await transaction.query("INSERT INTO t VALUES (1)")
        await #expect(throws: Undo.self) {
          try await transaction.savepoint {
            _ = try await transaction.query("INSERT INTO t VALUES (2)")
            throw Undo()
          }
        }
        let failure = await error {
          try await transaction.savepoint { try await transaction.query("SELECT 1 / 0") }
        }
        #expect(failure?.sqlState == "22012")
        try await transaction.savepoint {
          try await transaction.savepoint { _ = try await transaction.query("INSERT INTO t VALUES (3)") }
        }
      }
      #expect(try await connection.query("SELECT n FROM t ORDER BY n").map { try $0.int(0) } == [1, 3])
    }
  }

  @Test("is undone at its deadline or when its task is cancelled, and the connection is usable")
  func interrupted() async throws {
    try await withTable { connection in
      let late = await error {
        try await connection.transaction(deadline: .milliseconds(100)) { transaction in
          _ = try await transaction.query("INSERT INTO t VALUES (1)")
          _ = try await transaction.query("SELECT pg_sleep(600)", deadline: .seconds(600))
        }
      }
      #expect(late?.code == .deadlineExceeded)
      let task = Task {
        await error {
          try await connection.transaction { transaction in
            _ = try await transaction.query("INSERT INTO t VALUES (1)")
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await transaction.query("INSERT INTO t VALUES (2)")
          }
        }
      }
      #expect(await task.value?.code == .cancelled)
      let found = try await count(connection)
      #expect(found == 0)
      #expect(connection.isUsable)
    }
  }

  @Test("has pipelines, streams and copies within it")
  func everything() async throws {
    try await withTable { connection in
      try await connection.transaction { transaction in
        let results = try await transaction.pipeline(
          (1...3).map { SQLStatement("INSERT INTO t VALUES ($1)", [.int32($0)]) })
        #expect(results.count == 3)
        try await transaction.copyIn("COPY t FROM STDIN") { try await $0.write("4\n5\n") }
        var sum = 0
        try await transaction.forEachRow("SELECT n FROM t") { sum += try $0.int(0) }
        #expect(sum == 15)
      }
      #expect(try await count(connection) == 5)
    }
  }

  @Test("whose connection is lost before COMMIT has surely not taken effect")
  func loss() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      let failure = await error {
        try await connection.transaction { transaction in
          _ = try await transaction.query("CREATE TABLE t (n int)")
          _ = try await observer.query("SELECT pg_terminate_backend($1)", [.int32(connection.backendPID)])
          _ = try await transaction.query("INSERT INTO t VALUES (1)")
        }
      }
      #expect(failure?.code == .connectionLost)
      #expect(failure?.mayHaveTakenEffect == false)
    }
  }
}
