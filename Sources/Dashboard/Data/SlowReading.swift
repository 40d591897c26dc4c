/// What takes long to read, such as sums over all users. It is read anew once a minute while somebody looks, and who
/// comes meanwhile is shown what was read before. Only who comes after nobody has looked for a minute waits for it.
actor SlowReading<Value: Sendable> {
  /// How old a value is when it is read anew.
  static var age: Duration { .seconds(60) }
  /// How old a value is when it is not shown any more.
  static var oldest: Duration { .seconds(120) }

  private let age: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private let mayBeOld: @Sendable (Value, _ took: Duration) -> Bool
  private let read: @Sendable () async throws -> Value
  private var last: (value: Value, began: ContinuousClock.Instant, mayBeOld: Bool)?
  private var reading: Task<Value, any Error>?
  /// Whether something was changed since the last value was read.
  private var isStale = false
  /// The number of the last reading that began, and of the last one that began before something was changed.
  private var begun = 0
  private var forgotten = 0

  /// - Parameters:
  ///   - age: How old a value is when it is read anew.
  ///   - mayBeOld: Whether a value may be shown while it is read anew, by how long it took to read. Of any other
  ///     everybody waits for the new one.
  init(
    age: Duration = SlowReading.age, now: @escaping @Sendable () -> ContinuousClock.Instant,
    mayBeOld: @escaping @Sendable (Value, _ took: Duration) -> Bool = { _, _ in true },
    _ read: @escaping @Sendable () async throws -> Value
  ) {
    self.age = age
    self.now = now
    self.mayBeOld = mayBeOld
    self.read = read
  }

  /// The value, at most two minutes old.
  ///
  /// - Throws: What the reading threw, to whoever waits for it.
  func value() async throws -> Value { try await aged().value }

  /// The value, and how old it is where a newer one is being read.
  ///
  /// - Throws: What the reading threw, to whoever waits for it.
  func aged() async throws -> (value: Value, age: Duration?) {
    let passed = last.map { now() - $0.began }
    if let last, let passed, passed < age, !isStale { return (last.value, nil) }
    let reading = reading ?? begin()
    if let last, let passed, passed < Self.oldest, last.mayBeOld { return (last.value, passed) }
    return (try await reading.value, nil)
  }

  /// Has it read anew for who comes next, since something was changed.
  func forget() {
    forgotten = begun
    isStale = true
    reading = nil
  }

  private func begin() -> Task<Value, any Error> {
    begun += 1
    let (began, number) = (now(), begun)
    let task = Task {
      defer { if number > forgotten { reading = nil } }
      let value = try await read()
      if number > forgotten {
        last = (value, began, mayBeOld(value, now() - began))
        isStale = false
      }
      return value
    }
    reading = task
    return task
  }
}
