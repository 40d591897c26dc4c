internal import Clibpq
internal import EventLoop

/// One request to the server to stop what a connection is doing, over a connection of its own that the loop drives; used
/// by one actor only, on the loop.
final class CancelRequest {
  /// Whether libpq has it.
  static let isAvailable = pq_has_async_cancel()

  private let loop: EventLoop
  private var pointer: UnsafeMutableRawPointer?
  private var watched: Int32?

  /// Begins to connect; nil where that fails at once.
  init?(_ connection: OpaquePointer, on loop: EventLoop) {
    guard let pointer = pq_cancel_begin(connection) else { return nil }
    self.pointer = pointer
    self.loop = loop
  }

  /// Goes on, at first when its connection can be written and then whenever `ready` was called.
  ///
  /// - Returns: Whether it is on its way still; else the server has it, or it is lost, which shows in what the
  ///   connection does next.
  func advance(isFirst: Bool = false, _ ready: @escaping @Sendable (Readiness) -> Void) -> Bool {
    guard let pointer else { return false }
    // The next step may be on another descriptor.
    unwatch()
    let interest: Interest
    switch isFirst ? PGRES_POLLING_WRITING : pq_cancel_advance(pointer) {
    case PGRES_POLLING_WRITING: interest = .write
    case PGRES_POLLING_READING: interest = .read
    default:
      end()
      return false
    }
    let descriptor = pq_cancel_socket(pointer)
    do throws(EventLoopError) {
      try loop.watch(descriptor, interest, ready)
      watched = descriptor
      return true
    } catch {
      end()
      return false
    }
  }

  /// Gives it up, wherever it is.
  func end() {
    unwatch()
    if let pointer { pq_cancel_end(pointer) }
    pointer = nil
  }

  private func unwatch() {
    if let watched { loop.unwatch(watched) }
    watched = nil
  }
}

/// The right to ask the server to stop what one connection is doing, over a connection of its own.
///
/// Safe to share: libpq promises that a `PGcancel` may be used by any thread; it is not changed after it
/// was made, and freed when the last thread has released it.
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
