import Administration
import JobQueue
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
      ("lane_shares", "5, 2, 1"), ("lane_shares", ""), ("keep_images", "59 minutes"), ("keep_images", "soon"),
      ("keep_audit", "364 days"), ("statement_grace", ""),
    ])
  func wrong(name: String, value: String) async throws {
    try await withCheckedQueue { queue async throws in
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
    try await withCheckedQueue { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '\(value)' WHERE name = '\(name)'")
      let stored = try await queue.texts("SELECT value FROM analysis.setting WHERE name = '\(name)'")
      #expect(stored == [value])
    }
  }

  @Test("A new database has each setting that there is, at its default")
  func defaults() async throws {
    try await withCheckedQueue { queue async throws in
      let settings = try await SettingDirectory(queue.pool).list()
      #expect(settings.filter { $0.value != $0.standard } == [])
      #expect(
        try await queue.texts("SELECT name FROM analysis.setting ORDER BY name")
          == settings.map(\.name).sorted())
    }
  }

  @Test("An UPDATE by the owner is recorded like any change, and one that changes nothing is not")
  func updated() async throws {
    try await withCheckedQueue { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '5,2,1' WHERE name = 'lane_shares'")
      try await queue.execute("UPDATE analysis.setting SET value = '4,3,1' WHERE name = 'lane_shares'")
      #expect(
        try await queue.texts(
          "SELECT object || ' ' || detail::text FROM analysis.audit_draft WHERE action = 'set_setting'")
          == [#"setting:lane_shares {"after": "4,3,1", "before": "5,2,1"}"#])
    }
  }

  @Test("Who decided on a value that somebody changed meanwhile changes nothing")
  func changedMeanwhile() async throws {
    try await withCheckedQueue { queue async throws in
      let settings = SettingDirectory(queue.pool)
      #expect(try await settings.preview("keep_dead", value: "1 year") == "24 months")
      #expect(try await settings.set("keep_dead", value: "2 years", before: "24 months"))
      #expect(try await !settings.set("keep_dead", value: "1 year", before: "24 months"))
      #expect(try await settings.list().first { $0.name == "keep_dead" }?.value == "2 years")
    }
  }

  @Test("The number of shards is fixed once there is a user")
  func fixedShards() async throws {
    try await withCheckedQueue { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '4' WHERE name = 'shards'")
      try await queue.addUser("user")
      await #expect(throws: PostgreSQLError.self) {
        try await queue.execute("UPDATE analysis.setting SET value = '8' WHERE name = 'shards'")
      }
      try await queue.execute("UPDATE analysis.setting SET value = '4' WHERE name = 'shards'")
    }
  }
}
