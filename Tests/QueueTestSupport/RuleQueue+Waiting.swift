import Testing

extension RuleQueue {
  /// Returns when some connection to this database waits for another's lock.
  package func untilSomebodyWaits() async throws {
    // Guards against hanging and measures nothing.
    let patience = ContinuousClock.now + .seconds(120)
    while ContinuousClock.now < patience {
      let waiting = try await number(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      )
      if waiting > 0 { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("nobody came to wait for a lock")
  }
}
