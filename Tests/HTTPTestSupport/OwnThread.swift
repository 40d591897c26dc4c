import Dispatch
public import Testing

/// Runs a suite's tests on a thread beside those that all tests share, one at a time.
///
/// The client of these tests is blocking, so that it shows exactly how a connection ended. On the shared
/// threads, of which there are as many as cores, it would hold up every other test of the process.
public struct OwnThread: SuiteTrait, TestTrait, TestScoping {
  /// Its tests too.
  public let isRecursive = true

  /// Runs a test there.
  @concurrent
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(BlockingTests.executor) { try await function() }
  }
}

extension Trait where Self == OwnThread {
  /// On a thread where a test may block.
  public static var onOwnThread: OwnThread { OwnThread() }
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
