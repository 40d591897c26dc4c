internal import Glibc
internal import Synchronization

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

/// What one task waits for and others give: the first of it counts, and what comes later is dropped.
public final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    case starting
    case waiting(CheckedContinuation<Value, Never>)
    case over
  }

  private let state = Mutex(State.starting)

  /// One for which nobody waits yet.
  public init() {}

  /// Whether it was given.
  public var isOver: Bool { state.withLock { if case .over = $0 { true } else { false } } }

  /// Waits for it; once.
  ///
  /// - Parameters:
  ///   - cancelled: What it is where the task is cancelled before.
  ///   - begin: Has it made; not called where the task is cancelled already.
  public func wait(cancelled: Value, _ begin: () -> Void) async -> Value {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let begins = state.withLock { state in
          guard case .starting = state else { return false }
          state = .waiting(continuation)
          return true
        }
        if begins { begin() } else { continuation.resume(returning: cancelled) }
      }
    } onCancel: {
      give(cancelled)
    }
  }

  /// Gives it, unless it was given before.
  public func give(_ value: Value) {
    let continuation = state.withLock { state -> CheckedContinuation<Value, Never>? in
      defer { state = .over }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: value)
  }
}
