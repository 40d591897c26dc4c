/// What pages have read of the database a moment ago. Whoever comes meanwhile gets the same, so that the number of
/// browsers does not matter.
actor ReadCache {
  private struct Entry {
    let began: ContinuousClock.Instant
    let reading: Task<any Sendable, any Error>
  }

  /// Pages with other filters are other entries; the oldest makes room.
  private static let most = 64

  private let now: @Sendable () -> ContinuousClock.Instant
  private var entries: [String: Entry] = [:]

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.now = now
  }

  /// What was read under a key, unless that is older than it may be; then it is read again, once for all who ask.
  ///
  /// - Throws: What the reading threw.
  func value<Value: Sendable>(
    _ key: String, noOlderThan age: Duration, _ read: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let key = "\(Value.self) \(key)"
    let reading: Task<any Sendable, any Error>
    if let entry = entries[key], now() - entry.began < age {
      reading = entry.reading
    } else {
      reading = Task { try await read() }
      makeRoom()
      entries[key] = Entry(began: now(), reading: reading)
    }
    do {
      // The key names the type.
      guard let value = try await reading.value as? Value else {
        preconditionFailure("\(key) is of another type")
      }
      return value
    } catch {
      // Only those who waited get the failure. Whoever comes later has it read again.
      if entries[key]?.reading == reading { entries[key] = nil }
      throw error
    }
  }

  /// Forgets everything, as after something was changed.
  func forget() { entries = [:] }

  private func makeRoom() {
    guard entries.count >= Self.most, let oldest = entries.min(by: { $0.value.began < $1.value.began })
    else { return }
    entries[oldest.key] = nil
  }
}
