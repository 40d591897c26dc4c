import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A lost connection")
struct LossTests {
  @Test("in the middle of a statement carries the server's reason")
  func terminated() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      async let failure = error { try await connection.query("SELECT pg_sleep(600)") }
      try await waitUntilRunning("pg_sleep", on: connection.backendPID, observer)
      // Only now, or it could run before the other and not wait at all.
      async let waiting = error { try await connection.query("SELECT 1") }
      _ = try await observer.query("SELECT pg_terminate_backend($1)", [.int32(connection.backendPID)])
      for failure in [await failure, await waiting] {
        #expect(failure?.code == .connectionLost)
        #expect(failure?.sqlState == "57P01")
        #expect(failure?.isTransient == true)
      }
      #expect(await failure?.mayHaveTakenEffect == true)
      #expect(await waiting?.mayHaveTakenEffect == false)
      #expect(!connection.isUsable)
    }
  }

  @Test("is noticed while nobody uses it")
  func idle() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      _ = try await observer.query("SELECT pg_terminate_backend($1)", [.int32(connection.backendPID)])
      await connection.closed()
      #expect(!connection.isUsable)
      let failure = await error { try await connection.query("SELECT 1") }
      #expect(failure?.code == .connectionLost)
      #expect(failure?.sqlState == "57P01")
      #expect(failure?.mayHaveTakenEffect == false)
    }
  }

  @Test("by our own close fails what runs and what waits")
  func closed() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let connection = try await database.connect(on: loop)
      let observer = try await database.connect(on: loop)
      async let running = error { try await connection.query("SELECT pg_sleep(600)") }
      try await waitUntilRunning("pg_sleep", on: connection.backendPID, observer)
      async let waiting = error { try await connection.query("SELECT 1") }
      await connection.close()
      #expect(await running?.code == .closed)
      #expect(await waiting?.code == .closed)
      await connection.close()
      await connection.closed()
      #expect(await error { try await connection.query("SELECT 1") }?.code == .closed)
    }
  }

  @Test("by letting go of it ends the server's process")
  func released() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let observer = try await database.connect(on: loop)
      var connection: Connection? = try await database.connect(on: loop)
      let pid = try #require(connection?.backendPID)
      _ = try await connection?.query("SELECT 1")
      connection = nil
      let alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
      while try await observer.query(alive, [.int32(pid)]).single().int(0) > 0 { await Task.yield() }
    }
  }
}
