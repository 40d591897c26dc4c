import EventLoop
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("The proxy that breaks connections")
struct FaultProxyTests {
  @Test("cuts before the server has seen a statement, or when it has carried it out")
  func cuts() async throws {
    try await withServerCluster { cluster in
      let proxy = try FaultProxy(to: .socket(cluster.socketPath))
      defer { proxy.stop() }
      let loop = try EventLoop()
      defer { loop.shutdown() }
      let pool = ConnectionPool(ConnectionConfiguration(proxy.conninfo()), on: loop, size: 1)
      _ = try await pool.query("CREATE TABLE kept (n int)")
      proxy.cut(.beforeServer, at: "VALUES (1)")
      proxy.cut(.afterAnswer, at: "VALUES (2)")
      proxy.cut(.afterAnswer, at: "COMMIT", skipping: 1)
      for number in 1...2 {
        await #expect(throws: PostgreSQLError.self) {
          _ = try await pool.query("INSERT INTO kept VALUES (\(number))")
        }
      }
      try await pool.transaction { _ = try await $0.query("INSERT INTO kept VALUES (3)") }
      await #expect(throws: PostgreSQLError.self) {
        try await pool.transaction { _ = try await $0.query("INSERT INTO kept VALUES (4)") }
      }
      let kept = try await pool.query("SELECT n FROM kept ORDER BY n").map { try $0.int32(0) }
      #expect(kept == [2, 3, 4])
      #expect(proxy.struck == 3)
      await pool.close()
    }
  }

  @Test("freezes, thaws, refuses and admits")
  func freezes() async throws {
    try await withServerCluster { cluster in
      let proxy = try FaultProxy(to: .socket(cluster.socketPath))
      defer { proxy.stop() }
      let loop = try EventLoop()
      defer { loop.shutdown() }
      let pool = ConnectionPool(
        ConnectionConfiguration(proxy.conninfo(), connectTimeout: patience), on: loop, size: 1)
      let one = try await pool.query("SELECT 1").single().int32(0)
      #expect(one == 1)
      proxy.freeze()
      let isFrozen = Mutex(true)
      let late = Task {
        let two = try await pool.query("SELECT 2", deadline: patience).single().int32(0)
        #expect(!isFrozen.withLock { $0 }, "it was answered before the thaw")
        return two
      }
      try await loop.sleep(for: .milliseconds(200))
      isFrozen.withLock { $0 = false }
      proxy.thaw()
      let two = try await late.value
      #expect(two == 2)
      proxy.refuse()
      proxy.cutAll()
      await #expect(throws: PostgreSQLError.self) { _ = try await pool.query("SELECT 3") }
      let refused = await #expect(throws: PostgreSQLError.self) { _ = try await pool.query("SELECT 3") }
      #expect(refused?.phase == .refused)
      try proxy.admit()
      let three = try await pool.query("SELECT 3").single().int32(0)
      #expect(three == 3)
      await pool.close()
    }
  }
}
