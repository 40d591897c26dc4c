import Synchronization

/// Holds a server's threads until so many of them have come; those that come later pass.
public final class Barrier: Sendable {
  private let size: Int
  private let come = Mutex(0)
  private let gate = Gate()

  /// A meeting of a number of threads.
  public init(_ size: Int) {
    self.size = size
  }

  /// Waits, on a thread of its own, for the others.
  public func wait() {
    let place = come.withLock { come in
      come += 1
      return come
    }
    if place < size { return gate.wait() }
    guard place == size else { return }
    for _ in 1..<size { gate.open() }
  }
}
