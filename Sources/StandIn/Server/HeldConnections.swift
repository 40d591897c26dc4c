import Clinux
import Glibc
import HTTPServing
import Support
import Synchronization

/// Connections that wait for a time, on one thread for all of them: a delay holds no server thread.
final class HeldConnections: Sendable {
  private struct Held {
    let due: ContinuousClock.Instant
    /// It stays valid while it is suspended.
    let connection: HTTPConnection
    /// The socket to look at for a client that has gone, or -1.
    let socket: Int32
  }

  private struct State {
    /// The earliest first. Most are held for as long as those before them, and so come last.
    var waiting: [Held] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  private let wakeUp: Int32
  private let thread = Mutex<pthread_t?>(nil)

  init() throws(EndpointError) {
    wakeUp = eventfd(0, linux_eventfd_flags)
    guard wakeUp >= 0 else {
      throw EndpointError(.system, "no event descriptor is to be had: errno \(errno)")
    }
    var started = pthread_t()
    let context = Unmanaged.passRetained(self)
    let code = pthread_create(&started, nil, heldConnectionsMain, context.toOpaque())
    guard code == 0 else {
      context.release()
      throw EndpointError(.system, "no thread can be started: errno \(code)")
    }
    thread.withLock { $0 = started }
  }

  deinit { Glibc.close(wakeUp) }

  /// Suspends a connection for a time. With a socket, it comes back early when its client has gone.
  ///
  /// Only the daemon's own callbacks may call this.
  /// - Returns: false, and the connection goes on at once, when the server is stopping.
  func hold(_ connection: HTTPConnection, for time: Duration, socket: Int32 = -1) -> Bool {
    let held = Held(due: .now + time, connection: connection, socket: socket)
    // Under the lock, so that the connection is suspended before anyone can resume it.
    let (accepted, isEarliest) = state.withLock { state -> (Bool, Bool) in
      guard !state.isClosed else { return (false, false) }
      connection.suspend()
      let place = state.waiting.lastIndex { $0.due <= held.due }.map { $0 + 1 } ?? 0
      state.waiting.insert(held, at: place)
      return (true, place == 0)
    }
    if isEarliest { wake() }
    return accepted
  }

  /// Lets every connection go on and holds none from now on. Waits for the thread to end.
  func close() {
    state.withLock { $0.isClosed = true }
    wake()
    let running = thread.withLock { $0.take() }
    if let running { pthread_join(running, nil) }
  }

  private func wake() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  private static let lookInterval = Duration.milliseconds(500)

  fileprivate func run() {
    var nextLook = ContinuousClock.now
    while true {
      let (due, next, isClosed) = takeDue()
      for held in due { held.connection.resume() }
      if isClosed { return }
      sleep(until: next)
      if nextLook <= .now {
        resumeAbandoned()
        nextLook = .now + Self.lookInterval
      }
    }
  }

  private func takeDue() -> (due: [Held], next: ContinuousClock.Instant?, isClosed: Bool) {
    let now = ContinuousClock.now
    return state.withLock { state in
      let due = Array(state.waiting.prefix { state.isClosed || $0.due <= now })
      state.waiting.removeFirst(due.count)
      return (due, state.waiting.first?.due, state.isClosed)
    }
  }

  /// Sleeps until the next connection is due, to the millisecond, or until it is time to look for clients
  /// that have gone.
  private func sleep(until next: ContinuousClock.Instant?) {
    let pause = min(next.map { $0 - .now } ?? Self.lookInterval, Self.lookInterval)
    var descriptor = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
    if poll(&descriptor, 1, Int32(max(0, pause.inSeconds * 1000).rounded(.up))) > 0 {
      var count: UInt64 = 0
      _ = read(wakeUp, &count, 8)
    }
  }

  /// libmicrohttpd does not look at suspended connections: without this, a client that gave up would keep
  /// its socket here until the end of the wait.
  private func resumeAbandoned() {
    let gone: [Held] = state.withLock { state in
      var descriptors = state.waiting.filter { $0.socket >= 0 }.map {
        // poll() and epoll share the values of their events.
        pollfd(fd: $0.socket, events: Int16(linux_epoll_rdhup), revents: 0)
      }
      guard !descriptors.isEmpty, poll(&descriptors, nfds_t(descriptors.count), 0) > 0 else { return [] }
      let sockets = Set(descriptors.filter { $0.revents != 0 }.map(\.fd))
      let gone = state.waiting.filter { sockets.contains($0.socket) }
      state.waiting.removeAll { sockets.contains($0.socket) }
      return gone
    }
    for held in gone { held.connection.resume() }
  }
}

private func heldConnectionsMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let context { Unmanaged<HeldConnections>.fromOpaque(context).takeRetainedValue().run() }
  return nil
}
