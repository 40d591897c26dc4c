import Administration
import JobQueue
import PostgreSQL

/// The counts of batches that pages show, each page's by its key. They are read anew for whoever looks; but those of
/// many jobs, which take long to count, are shown as they were for two minutes at most while they are counted anew.
actor BatchReadings<Value: Sendable> {
  /// How many jobs have to be counted, and how long that has to take, before older counts are shown.
  private static var manyJobs: Int { 10_000 }
  private static var long: Duration { .milliseconds(25) }
  /// Other pages are other entries; the oldest makes room.
  private static var most: Int { 64 }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let jobs: @Sendable (Value) -> Int
  private var readings: [(key: String, reading: SlowReading<Value>)] = []

  /// - Parameter jobs: How many jobs were counted for a value.
  init(now: @escaping @Sendable () -> ContinuousClock.Instant, jobs: @escaping @Sendable (Value) -> Int) {
    self.now = now
    self.jobs = jobs
  }

  /// What was read under a key, and how old it is where that is being counted anew.
  ///
  /// - Throws: What the reading threw.
  func value(
    _ key: String, _ read: @escaping @Sendable () async throws -> Value
  ) async throws -> (value: Value, age: Duration?) {
    try await reading(key, read).aged()
  }

  /// Has all of them read anew, since something was changed.
  func forget() async {
    for (_, reading) in readings { await reading.forget() }
  }

  private func reading(
    _ key: String, _ read: @escaping @Sendable () async throws -> Value
  ) -> SlowReading<Value> {
    if let known = readings.first(where: { $0.key == key }) { return known.reading }
    let jobs = jobs
    let reading = SlowReading(
      age: QueueMonitor.statusAge, now: now,
      mayBeOld: { jobs($0) >= Self.manyJobs && $1 >= Self.long }, read)
    if readings.count >= Self.most { readings.removeFirst() }
    readings.append((key, reading))
    return reading
  }
}
