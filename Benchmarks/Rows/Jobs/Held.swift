import Synchronization

/// What a row has made for its contenders and has to end after them.
final class Held<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  /// Keeps it.
  func put(_ new: Value) { value.withLock { $0 = new } }

  /// Gives it away; nil when there is none, or it was given away.
  func take() -> Value? { value.withLock { $0.take() } }
}
