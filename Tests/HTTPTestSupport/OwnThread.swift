import Dispatch
public import Testing

/// Runs a suite's tests on a thread beside those that all tests share, one at a time; or each on one of its own, where
/// they block for as long as programs take.
///
/// The client of these tests is blocking, so that it shows exactly how a connection ended. On the shared
/// threads, of which there are as many as cores, it would hold up every other test of the process.
public struct OwnThread: SuiteTrait, TestTrait, TestScoping {
  /// Its tests too.
  public let isRecursive = true
  fileprivate let isShared: Bool

  /// Runs a test there.
  @concurrent
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(isShared ? BlockingTests.executor : BlockingTests()) {
      try await function()
    }
  }
}

extension Trait where Self == OwnThread {
  /// On a thread where a test may block.
  public static var onOwnThread: OwnThread { OwnThread(isShared: true) }

  /// Each test on a thread of its own, where it may block for long.
  public static var onThreadEach: OwnThread { OwnThread(isShared: false) }
}

/// The thread.
private final class BlockingTests: TaskExecutor {
  static let executor = BlockingTests()

  private let queue = DispatchQueue(label: "blocking-tests")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
