internal import Glibc

/// A short-lived thread for a call that blocks and must not keep the loop or the cooperative pool: a name is
/// looked up, a connection made by a library that does so itself, a file of a cache read.
public enum HelperThread {
  private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }

  /// Runs the closure on a thread of its own; false when the system has no thread left.
  public static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
    let body = Unmanaged.passRetained(Body(run))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  /// Runs the closure on a thread of its own and waits for its value, on no thread; nil when the system has no
  /// thread left, and then the closure was not run.
  ///
  /// Cancelling the task changes nothing: what blocks goes on to its end.
  public static func value<R: Sendable>(of body: @escaping @Sendable () -> R) async -> R? {
    await withCheckedContinuation { continuation in
      if !start({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
    }
  }
}
