public import EventLoop
public import PostgreSQL
public import Support
internal import Synchronization

/// The channels on which is said that something has happened in the queue. What is heard there is a hint to look at
/// once: anybody who may connect can send it, and nothing is lost with one that is not heard.
public enum QueueChannel: String, Sendable, CaseIterable {
  /// Jobs were submitted; the text is their shard.
  case jobs = "analysis_jobs"
  /// Jobs have ended; sent by workers with `--notify-ended`.
  case ended = "analysis_ended"
}

/// Listens to channels of the queue on a connection of its own, until the task is cancelled. Through a pooler nothing is
/// heard: then it ends at once.
public struct QueueListener: Sendable {
  private let configuration: ConnectionConfiguration
  private let channels: [QueueChannel]
  private let loop: EventLoop
  private let log: Log?

  /// What is only a help is not missed for some seconds.
  private static let backoff = Backoff(base: .milliseconds(500), cap: .seconds(30))

  /// A listener that does not listen yet.
  ///
  /// - Parameter log: Told why nothing is heard; nil where somebody at a terminal would be.
  public init(
    _ configuration: ConnectionConfiguration, _ channels: [QueueChannel], on loop: EventLoop, log: Log?
  ) {
    (self.configuration, self.channels, self.loop, self.log) = (configuration, channels, loop, log)
  }

  /// Listens.
  ///
  /// - Parameters:
  ///   - goesOn: Whether to connect (again).
  ///   - pause: Waits before a lost connection is made again.
  ///   - changed: Told whether it listens now, or not any more: what happened before was not heard.
  ///   - heard: Takes the text of each notification.
  public func run(
    while goesOn: @Sendable () async -> Bool = { true }, pause: (@Sendable (Duration) async -> Void)? = nil,
    changed: @Sendable (_ listens: Bool) async -> Void = { _ in },
    heard: @escaping @Sendable (String) async -> Void
  ) async {
    var retries = RetryPauses(Self.backoff, least: .milliseconds(50))
    while !Task.isCancelled, await goesOn() {
      do {
        let connection = try await Connection.connect(configuration, on: loop)
        guard try await connection.isDirect() else {
          log?.notice("Notifications are not heard through a pooler; polling goes on")
          return await connection.close()
        }
        var streams: [AsyncStream<Notification>] = []
        for channel in channels { streams.append(try await connection.listen(channel.rawValue)) }
        retries.reset()
        await changed(true)
        await withTaskGroup(of: Void.self) { group in
          for stream in streams { group.addTask { for await hint in stream { await heard(hint.payload) } } }
        }
        await connection.close()
      } catch {
        log?.debug("Notifications cannot be heard; polling goes on", ["error": .string("\(error)")])
      }
      await changed(false)
      let delay = retries.next()
      if let pause { await pause(delay) } else { try? await loop.sleep(for: delay) }
    }
  }
}

/// Sends what comes within 10 ms as one notification, until the task is cancelled. A notification is a hint: one that cannot
/// be sent is dropped, and of too many the oldest are.
public final class HintSender<Hint: Sendable>: Sendable {
  /// Notifications of all databases of a server are committed one after the other.
  private static var pause: Duration { .milliseconds(10) }
  /// As many jobs as one statement can name.
  private static var most: Int { 10_000 }

  private let loop: EventLoop
  private let send: @Sendable ([Hint]) async -> Void
  private let hints = Mutex<[Hint]>([])
  /// Rung when there are some.
  private let bell: Bell

  /// - Parameter send: Sends some hints; it says itself that they could not be sent.
  public init(on loop: EventLoop, send: @escaping @Sendable ([Hint]) async -> Void) {
    (self.loop, self.send) = (loop, send)
    bell = Bell(loop: loop)
  }

  /// Has hints sent soon.
  public func add(_ some: some Collection<Hint>) {
    guard !some.isEmpty else { return }
    hints.withLock { hints in
      hints += some
      if hints.count > Self.most { hints.removeFirst(hints.count - Self.most) }
    }
    bell.ring()
  }

  /// Sends until the task is cancelled.
  public func run() async {
    while !Task.isCancelled {
      await bell.wait()
      await flush()
      do { try await loop.sleep(for: Self.pause) } catch { return }
    }
  }

  /// Sends what has come. Apart from the caller's task: one that is cancelled meanwhile has sent it.
  public func flush() async {
    let taken = hints.withLock { hints in
      defer { hints = [] }
      return hints
    }
    guard !taken.isEmpty else { return }
    await Task(executorPreference: loop) { [send] in await send(taken) }.value
  }
}

extension Connection {
  /// Whether the server's process is the one that the connection was promised. A pooler promises a number of its
  /// own, and what listens there is a connection that others get next.
  func isDirect() async throws(PostgreSQLError) -> Bool {
    try await query(.serverProcess).single().int32(0) == backendPID
  }
}
