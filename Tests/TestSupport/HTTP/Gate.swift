import Dispatch

/// Holds a server's thread until the test lets it go.
public final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// A closed gate.
  public init() {}

  /// Waits, on a thread of its own, until the gate is opened once more.
  public func wait() { semaphore.wait() }

  /// Lets one waiter through.
  public func open() { semaphore.signal() }
}
