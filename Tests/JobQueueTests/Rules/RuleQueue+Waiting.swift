import Testing

extension RuleQueue {
  /// Returns when some connection to this database waits for another's lock.
  func untilSomebodyWaits() async throws {
    for _ in 0..<10_000 {
      let waiting = try await number(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      )
      if waiting > 0 { return }
      await Task.yield()
    }
    Issue.record("nobody came to wait for a lock")
  }
}
