import HTTPServing

/// Tells browsers every few seconds to bring their pages up to date. It works only while somebody looks.
actor LiveFeed {
  nonisolated let events: HTTPEvents
  private let pause: @Sendable () async throws -> Void
  private var isRunning = false

  /// - Parameter pause: Waits until the next event is due.
  init(atMost most: Int, pause: @escaping @Sendable () async throws -> Void) {
    events = HTTPEvents(atMost: most)
    self.pause = pause
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
      events.send("changed")
    }
  }
}
