import HTTPServing

/// Tells browsers every few seconds that there is something new. It works only while somebody looks.
actor LiveFeed {
  nonisolated let events: HTTPEvents
  private let pause: @Sendable () async throws -> Void
  private let refresh: @Sendable () async -> Void
  private var isRunning = false

  /// - Parameters:
  ///   - pause: Waits until the next event is due.
  ///   - refresh: Reads anew what the pages show.
  init(
    atMost most: Int, pause: @escaping @Sendable () async throws -> Void,
    refresh: @escaping @Sendable () async -> Void
  ) {
    events = HTTPEvents(atMost: most)
    self.pause = pause
    self.refresh = refresh
  }

  /// The answer to a browser that listens.
  nonisolated func answer() -> HTTPAnswer {
    .events(events) { Task { await self.run() } }
  }

  /// Goes on until nobody listens. That nobody does is seen and noted in one step, so that whoever comes
  /// then begins it anew.
  private func run() async {
    guard !isRunning else { return }
    isRunning = true
    defer { isRunning = false }
    while events.listeners > 0 {
      do { try await pause() } catch { return }
      // A line that means nothing goes out first: reading may take long, and shows who has gone.
      events.beat()
      await refresh()
      events.send("changed")
    }
  }
}
