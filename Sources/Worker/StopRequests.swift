internal import EventLoop
internal import Synchronization

/// How often the worker was asked to stop, and those who wait for it.
///
/// The requests come from one stream, which only one task can read; the start and the run both heed them.
final class StopRequests: Sendable {
  private let count = Mutex(0)
  private let bell: Bell

  init(loop: EventLoop) {
    bell = Bell(loop: loop)
  }

  /// Takes in the stream's requests until it ends or the task is cancelled.
  func read(_ stops: AsyncStream<Void>) async {
    for await _ in stops {
      count.withLock { $0 += 1 }
      bell.ring()
    }
  }

  /// Whether a stop was asked for.
  var isStopped: Bool { count.withLock { $0 } > 0 }

  /// Returns when there were more requests than `seen`, or when the task is cancelled.
  func wait(after seen: Int) async {
    while !Task.isCancelled, count.withLock({ $0 }) <= seen { await bell.wait() }
  }

  /// Does the work unless a stop is asked for before it is done; nil then.
  func unlessStopped<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R? {
    try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        await self.wait(after: 0)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }
}
