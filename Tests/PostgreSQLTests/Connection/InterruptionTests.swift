import EventLoop
import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("Deadlines and cancellation")
struct InterruptionTests {
  @Test("a deadline stops the statement and leaves the connection usable")
  func deadline() async throws {
    try await withConnection { connection in
      for _ in 0..<3 {
        let failure = await error {
          try await connection.query("SELECT pg_sleep(600)", deadline: .milliseconds(30))
        }
        #expect(failure?.code == .deadlineExceeded)
        #expect(failure?.isTransient == true)
        #expect(failure?.mayHaveTakenEffect == false)
        #expect(connection.isUsable)
        let next = try await connection.query("SELECT 1")
        #expect(try next.single().int(0) == 1)
      }
    }
  }

  @Test("a deadline that has passed sends nothing")
  func passed() async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (n int)")
      let failure = await error { try await connection.query("INSERT INTO t VALUES (1)", deadline: .zero) }
      #expect(failure?.code == .deadlineExceeded)
      #expect(try await connection.query("SELECT * FROM t").isEmpty)
    }
  }

  @Test("a deadline holds while waiting in line, and the line moves on")
  func deadlineInLine() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      let first = Task { await error { try await connection.query("SELECT pg_sleep(600)") } }
      try await waitUntilRunning("pg_sleep", on: connection.backendPID, observer)
      let second = await error { try await connection.query("SELECT 2", deadline: .milliseconds(10)) }
      #expect(second?.code == .deadlineExceeded)
      async let third = connection.query("SELECT 3")
      first.cancel()
      #expect(await first.value?.code == .cancelled)
      #expect(try await third.single().int(0) == 3)
    }
  }

  @Test("cancelling the task stops the statement and leaves the connection usable")
  func cancellation() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      let task = Task { await error { try await connection.query("SELECT pg_sleep(600)") } }
      try await waitUntilRunning("pg_sleep", on: connection.backendPID, observer)
      task.cancel()
      let failure = await task.value
      #expect(failure?.code == .cancelled)
      #expect(failure?.isTransient == false)
      #expect(try await connection.query("SELECT 1").single().int(0) == 1)
    }
  }

  @Test("a call in a cancelled task sends nothing")
  func cancelledBefore() async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (n int)")
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await error { try await connection.query("INSERT INTO t VALUES (1)") }
      }
      #expect(await task.value?.code == .cancelled)
      #expect(try await connection.query("SELECT * FROM t").isEmpty)
    }
  }

  @Test("a cancellation never hits the next statement", arguments: [1, 2, 3])
  func lateCancellation(round: Int) async throws {
    try await withConnection { connection in
      for number in 0..<60 {
        // Ended by itself or by its deadline, whichever comes first.
        _ = await error {
          try await connection.query("SELECT pg_sleep(0.002)", deadline: .microseconds(1_000 + 50 * number))
        }
        let next = try await connection.query("SELECT pg_sleep(0.001), 5")
        #expect(try next.single().int(1) == 5)
      }
      #expect(connection.isUsable)
    }
  }

  @Test(
    "a server that does not obey costs the connection, and the outcome is open",
    .enabled(if: TestServer.isPrivate))
  func frozen() async throws {
    try await withConnection {
      $0.cancelGrace = .milliseconds(100)
    } _: { connection in
      #expect(kill(connection.backendPID, SIGSTOP) == 0)
      defer { kill(connection.backendPID, SIGCONT) }
      let failure = await error {
        try await connection.query("SELECT 1", deadline: .seconds(5))
      }
      #expect(failure?.code == .deadlineExceeded)
      #expect(failure?.mayHaveTakenEffect == true)
      #expect(!connection.isUsable)
      #expect(await error { try await connection.query("SELECT 3") }?.code == .connectionLost)
      await connection.closed()
    }
  }

  @Test("somebody else's cancellation is the server's error")
  func foreignCancellation() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      async let failure = error { try await connection.query("SELECT pg_sleep(600)") }
      try await waitUntilRunning("pg_sleep", on: connection.backendPID, observer)
      _ = try await observer.query("SELECT pg_cancel_backend($1)", [.int32(connection.backendPID)])
      #expect(await failure?.code == .server)
      #expect(await failure?.sqlState == "57014")
    }
  }
}
