internal import Clibpq
internal import EventLoop

/// The right to ask the server to stop what one connection is doing, over a connection of its own.
///
/// Safe to share: libpq promises that a `PGcancel` may be used by any thread; it is not changed after it
/// was made, and freed when the last thread has let go.
final class CancelKey: @unchecked Sendable {
  private let pointer: OpaquePointer

  init?(_ connection: OpaquePointer) {
    guard let pointer = PQgetCancel(connection) else { return nil }
    self.pointer = pointer
  }

  deinit {
    PQfreeCancel(pointer)
  }

  /// Asks on a thread of its own, since the call blocks, and calls back from there when the server has
  /// passed the request on; false when there is no thread for it.
  func send(_ sent: @escaping @Sendable () -> Void) -> Bool {
    HelperThread.start { [self] in
      // Whether it arrived shows in what the connection does next.
      var message = [CChar](repeating: 0, count: 256)
      _ = PQcancel(pointer, &message, Int32(message.count))
      sent()
    }
  }
}
