internal import Clibpq

/// An established connection on its way from the thread that made it to the loop that will use it.
///
/// Safe to send: it is given away exactly once (`take`), by the only thread that knows of it, and the
/// hand-over itself, through a mutex and a continuation, orders the two threads' accesses.
final class FreshConnection: @unchecked Sendable {
  private var pointer: OpaquePointer?
  let notices: NoticeSink

  init(_ pointer: OpaquePointer, notices: NoticeSink) {
    self.pointer = pointer
    self.notices = notices
  }

  deinit {
    if let pointer { PQfinish(pointer) }
  }

  /// The connection, which is now the caller's to finish; nil the second time.
  func take() -> OpaquePointer? {
    defer { pointer = nil }
    return pointer
  }
}
