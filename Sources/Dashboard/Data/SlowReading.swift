/// What takes long to read, such as sums over all users. It is read anew once a minute while somebody looks, and who
/// comes meanwhile is shown what was read before. Only who comes after nobody has looked for a minute waits for it.
actor SlowReading<Value: Sendable> {
  /// How old a value is when it is read anew.
  static var age: Duration { .seconds(60) }
  /// How old a value is when it is not shown any more.
  static var oldest: Duration { .seconds(120) }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let read: @Sendable () async throws -> Value
  private var last: (value: Value, began: ContinuousClock.Instant)?
  private var reading: Task<Value, any Error>?

  init(
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    _ read: @escaping @Sendable () async throws -> Value
  ) {
    self.now = now
    self.read = read
  }

  /// The value, at most two minutes old.
  ///
  /// - Throws: What the reading threw, to whoever waits for it.
  func value() async throws -> Value {
    let passed = last.map { now() - $0.began }
    if let last, let passed, passed < Self.age { return last.value }
    let reading = reading ?? begin()
    if let last, let passed, passed < Self.oldest { return last.value }
    return try await reading.value
  }

  private func begin() -> Task<Value, any Error> {
    let began = now()
    let task = Task {
      defer { reading = nil }
      let value = try await read()
      last = (value, began)
      return value
    }
    reading = task
    return task
  }
}
