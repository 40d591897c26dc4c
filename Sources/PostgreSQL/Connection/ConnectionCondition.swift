internal import Synchronization

/// What others may ask of a connection without waiting for it.
final class ConnectionCondition: Sendable {
  private let usable = Atomic(true)
  private let clean = Atomic(true)

  /// Whether the connection is up.
  var isUsable: Bool {
    get { usable.load(ordering: .acquiring) }
    set { usable.store(newValue, ordering: .releasing) }
  }

  /// Whether it holds nothing of its last user's: no open transaction, no channel listened to.
  var isClean: Bool {
    get { clean.load(ordering: .acquiring) }
    set { clean.store(newValue, ordering: .releasing) }
  }
}
