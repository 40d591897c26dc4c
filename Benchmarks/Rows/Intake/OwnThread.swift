import Foundation

/// Runs work that keeps a processor busy for seconds on a thread of its own, so that it blocks nobody.
func onOwnThread<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
  }
}
