import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Settings of the installation")
struct SettingTests {
  @Test(
    "A wrong value is refused when it is set",
    arguments: [
      ("shards", "0"), ("shards", "many"), ("shards", "1025"), ("zone", "Mars/Olympus"),
      ("max_waiting", "-1"),
      ("max_database_bytes", "10 GB"), ("max_waiting_per_user", "1e9"), ("statement_grace", "-1 day"),
      ("max_wating", "1"), ("lane_shares", "5,2"), ("lane_shares", "5,2,0"), ("lane_shares", "100,2,1"),
      ("lane_shares", "5, 2, 1"), ("lane_shares", ""),
    ])
  func wrong(name: String, value: String) async throws {
    try await RuleQueue.run { queue async throws in
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.execute(
          "INSERT INTO analysis.setting VALUES ('\(name)', '\(value)') ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value"
        )
      }
      #expect(error?.isDataError == true)
    }
  }

  @Test(
    "A sound value is taken",
    arguments: [
      ("shards", "64"), ("zone", "Asia/Jakarta"), ("max_waiting", ""), ("statement_grace", "36 hours"),
      ("lane_shares", "1,1,99"),
    ])
  func sound(name: String, value: String) async throws {
    try await RuleQueue.run { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '\(value)' WHERE name = '\(name)'")
      let stored = try await queue.texts("SELECT value FROM analysis.setting WHERE name = '\(name)'")
      #expect(stored == [value])
    }
  }

  @Test("The number of shards is fixed once there is a user")
  func fixedShards() async throws {
    try await RuleQueue.run { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '4' WHERE name = 'shards'")
      try await queue.add("user")
      await #expect(throws: PostgreSQLError.self) {
        try await queue.execute("UPDATE analysis.setting SET value = '8' WHERE name = 'shards'")
      }
      try await queue.execute("UPDATE analysis.setting SET value = '4' WHERE name = 'shards'")
    }
  }
}
