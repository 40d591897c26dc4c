import EventLoop
import Glibc
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("A connection pool")
struct ConnectionPoolTests {
  private func withPool(
    size: Int = 2, reconnect: ReconnectPolicy = .failAtOnce, _ body: (ConnectionPool) async throws -> Void
  ) async throws {
    try await withTestDatabase { database in
      let pool = ConnectionPool(database.configuration, on: try EventLoop(), size: size, reconnect: reconnect)
      try await body(pool)
      await pool.close()
    }
  }

  private func pid(_ database: some Queryable) async throws -> Int32 {
    try await database.query("SELECT pg_backend_pid()").single().int32(0)
  }

  @Test("uses one connection again and again, and no more than it may")
  func reuse() async throws {
    try await withPool { pool in
      let first = try await pid(pool)
      #expect(try await pid(pool) == first)
      let used = try await withThrowingTaskGroup(of: Int32.self) { group in
        for _ in 0..<40 {
          group.addTask {
            try await pool.withConnection { connection in
              try await connection.query("SELECT pg_backend_pid(), pg_sleep(0.001)").single().int32(0)
            }
          }
        }
        return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
      }
      #expect(used.count <= 2)
    }
  }

  @Test("replaces a connection that was lost")
  func replaced() async throws {
    try await withPool(size: 1) { pool in
      let first = try await pid(pool)
      let failure = await error {
        try await pool.withConnection { connection in
          _ = try await connection.query("SELECT pg_terminate_backend(pg_backend_pid())")
        }
      }
      #expect(failure?.code == .connectionLost)
      #expect(try await pid(pool) != first)
    }
  }

  @Test("does not hand on an open transaction or a listening connection")
  func unclean() async throws {
    try await withPool(size: 1) { pool in
      let first = try await pid(pool)
      _ = try await pool.query("BEGIN")
      let second = try await pid(pool)
      #expect(second != first)
      try await pool.withConnection { _ = try await $0.listen("a") }
      #expect(try await pid(pool) != second)
    }
  }

  @Test("lets those who wait in, or sends them away at their deadline or cancellation")
  func waiting() async throws {
    try await withPool(size: 1) { pool in
      try await pool.withConnection { connection in
        let late = await error { try await pool.query("SELECT 1", deadline: .milliseconds(20)) }
        #expect(late?.code == .deadlineExceeded)
        #expect(late?.mayHaveTakenEffect == false)
        let task = Task { await error { try await pool.query("SELECT 1") } }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        _ = try await connection.query("SELECT 1")
      }
      #expect(try await pool.query("SELECT 7").single().int(0) == 7)
    }
  }

  @Test("tells at once that the server is not there, or tries until the deadline, as it was told")
  func unreachable() async throws {
    let nowhere = ConnectionConfiguration(
      "host=/nonexistent user=a", connectTimeout: patience, defaultDeadline: patience)
    let loop = try EventLoop()
    let hasty = ConnectionPool(nowhere, on: loop)
    #expect(await error { try await hasty.query("SELECT 1") }?.phase == .refused)
    let attempts = Mutex(0)
    let patient = ConnectionPool(
      nowhere, on: loop,
      reconnect: .retry { attempt in
        attempts.withLock { $0 = attempt }
        return attempt < 5 ? .milliseconds(1) : patience
      })
    let failure = await error { try await patient.query("SELECT 1") }
    #expect(failure?.phase == .refused)
    #expect(attempts.withLock { $0 } == 5)
    // What waiting cannot cure is not waited for.
    attempts.withLock { $0 = 0 }
    let hopeless = ConnectionPool(
      ConnectionConfiguration("port=none"), on: loop, reconnect: .retry { _ in .milliseconds(1) })
    #expect(await error { try await hopeless.query("SELECT 1") }?.phase == .configuration)
  }

  @Test("is whole again after the server has come back", .enabled(if: TestServer.isPrivate))
  func comesBack() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let observer = try await database.connect(on: loop)
      let role = "returning_\(database.name)"
      _ = try await observer.query("CREATE ROLE \(role) LOGIN")
      // The role may not connect until the pool has failed twice.
      _ = try await observer.query("ALTER ROLE \(role) CONNECTION LIMIT 0")
      let (failures, continuation) = AsyncStream.makeStream(of: Int.self)
      let pool = ConnectionPool(
        ConnectionConfiguration(database.conninfo + " user=\(role)"), on: loop,
        reconnect: .retry { attempt in
          continuation.yield(attempt)
          return .milliseconds(1)
        })
      async let answer = pool.query("SELECT 1")
      for await attempt in failures where attempt == 2 { break }
      _ = try await observer.query("ALTER ROLE \(role) CONNECTION LIMIT -1")
      #expect(try await answer.single().int(0) == 1)
      await pool.close()
      _ = try await observer.query("DROP ROLE \(role)")
    }
  }

  @Test("closes a connection at the end of its life, or when it comes back after it")
  func old() async throws {
    try await withPool { observer in
      func pool(_ life: Duration) -> ConnectionPool {
        ConnectionPool(observer.configuration, on: observer.loop, size: 1, longestLife: life)
      }
      let (brief, short) = (pool(.zero), pool(.milliseconds(50)))
      #expect(try await pid(brief) != pid(brief))
      let first = try await pid(short)
      try await eventually("it is closed") {
        try await observer.query("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", [.int32(first)])
          .single().int(0) == 0
      }
      #expect(try await pid(short) != first)
      await brief.close()
      await short.close()
    }
  }

  @Test(
    "lets the idle ones go with one that was lost: those of a frozen server would be waited for one by one",
    .enabled(if: TestServer.isPrivate))
  func frozen() async throws {
    try await withTestDatabase { database in
      var configuration = database.configuration
      configuration.cancelGrace = .milliseconds(100)
      let pool = ConnectionPool(configuration, on: try EventLoop(), size: 3)
      let frozen = try await pool.withConnection { first in
        try await pool.withConnection { second in
          try await pool.withConnection { [first.backendPID, second.backendPID, $0.backendPID] }
        }
      }
      for pid in frozen { #expect(kill(pid, SIGSTOP) == 0) }
      defer { for pid in frozen { kill(pid, SIGCONT) } }
      func ask() async throws -> Int32 {
        try await pool.query("SELECT pg_backend_pid()", deadline: .seconds(5)).single().int32(0)
      }
      #expect(await error { try await ask() }?.code == .deadlineExceeded)
      #expect(try await !frozen.contains(ask()))
      await pool.close()
    }
  }

  @Test("once closed refuses calls, and lets those that run finish")
  func closed() async throws {
    try await withPool(size: 1) { pool in
      try await pool.withConnection { connection in
        async let waiting = error { try await pool.query("SELECT 1") }
        await pool.close()
        #expect(await waiting?.code == .closed)
        let rows = try await connection.query("SELECT 1")
        #expect(rows.count == 1)
      }
      #expect(await error { try await pool.query("SELECT 1") }?.code == .closed)
    }
  }

  @Test("runs transactions, streams, pipelines and copies on its connections")
  func everything() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute(script: "CREATE TABLE t (n int)")
      let value = try await pool.transaction(deadline: patience) {
        try await $0.query("INSERT INTO t VALUES (1) RETURNING n").single().int(0)
      }
      #expect(value == 1)
      #expect(try await pool.forEachRow("SELECT n FROM t") { _ in } == 1)
      #expect(try await pool.pipeline([SQLStatement("SELECT 1"), SQLStatement("SELECT 2")]).count == 2)
      #expect(try await pool.copyIn("COPY t FROM STDIN") { try await $0.write("2\n") } == 1)
      #expect(try await pool.copyOut("COPY t TO STDOUT") { _ in } == 2)
    }
  }
}
