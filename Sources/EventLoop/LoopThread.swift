internal import Clinux
internal import Glibc
internal import Synchronization

/// A POSIX thread that runs one closure and is joined once.
final class LoopThread: Sendable {
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  /// Nil after the thread was joined or let go.
  private let handle: Mutex<pthread_t?>

  init(name: String, body: @escaping @Sendable () -> Void) throws(EventLoopError) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        linux_set_thread_name(start.name)
        start.body()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw EventLoopError(call: "pthread_create", errno: code)
    }
    handle = Mutex(thread)
  }

  /// Waits for the thread's end; returns at once when that was done before.
  func join() {
    if let thread = take() { pthread_join(thread, nil) }
  }

  /// Lets the thread end by itself.
  func detach() {
    if let thread = take() { pthread_detach(thread) }
  }

  private func take() -> pthread_t? {
    handle.withLock { thread in
      defer { thread = nil }
      return thread
    }
  }
}
