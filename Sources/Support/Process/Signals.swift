import Glibc
import Synchronization

/// A signal that the programs of this package act on.
public enum Signal: Sendable, Hashable, CaseIterable {
  /// SIGTERM: stop in good order; a second one: stop at once.
  case terminate
  /// SIGINT, as Ctrl-C: the same.
  case interrupt
  /// SIGHUP: read the configuration again.
  case hangup
  /// SIGUSR1: write the counters to the log.
  case user1

  /// The system's number.
  public var number: Int32 {
    switch self {
    case .terminate: SIGTERM
    case .interrupt: SIGINT
    case .hangup: SIGHUP
    case .user1: SIGUSR1
    }
  }

  init?(number: Int32) {
    guard let signal = Signal.allCases.first(where: { $0.number == number }) else { return nil }
    self = signal
  }
}

/// Signals of the system as an asynchronous sequence.
public enum Signals {
  /// Delivers each arrival of the given signals, second ones too, until the stream is no longer read; then
  /// they do again what they do by default. Throws `system` where no pipe or thread can be made.
  ///
  /// - Parameter thenIgnored: Whether they do nothing at all then: for a program that ends when the stream does, and
  ///   is to end by itself, not by a signal that comes in its last moment.
  public static func stream(
    of signals: Set<Signal>, thenIgnored: Bool = false
  ) throws(SystemError) -> AsyncStream<Signal> {
    let relay = try SignalRelay.shared.get()
    let (stream, continuation) = AsyncStream.makeStream(of: Signal.self)
    let listener = relay.add(signals, thenIgnored: thenIgnored, continuation)
    continuation.onTermination = { _ in relay.remove(listener) }
    return stream
  }

  /// Makes writing to a pipe or socket whose other side is gone an error of that call, not the process's end.
  public static func ignoreBrokenPipe() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Keeps a child process that has ended until it is waited for, also where the caller of this program ignores the
  /// ends of its children, which a program inherits: else another process may have the child's number by then.
  public static func keepEndedChildren() {
    signal(SIGCHLD, SIG_DFL)
  }
}

/// The write end of the pipe, for the signal handler, which may take no lock and allocate nothing.
private let handlerDescriptor = Atomic<Int32>(-1)

/// Carries signals from the handler to the streams: the handler writes the signal's number to a pipe, a
/// thread reads it. A thread, because the loops of the process may be busy or stopping when a signal comes.
final class SignalRelay: Sendable {
  private struct Listener {
    let id: Int
    let signals: Set<Signal>
    let thenIgnored: Bool
    let continuation: AsyncStream<Signal>.Continuation
  }

  private struct State {
    var listeners: [Listener] = []
    var nextID = 0
  }

  private let state = Mutex(State())
  private let readEnd: Int32

  /// One for the process, as its signal handlers are; or why it could not be made.
  static let shared = Result { () throws(SystemError) -> SignalRelay in try SignalRelay() }

  private init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // The handler must never wait, even if nobody reads for a while.
    guard pipe(&ends) == 0, fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0,
      ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
    else {
      throw .lastCall(.system, "no pipe for signals can be made")
    }
    readEnd = ends[0]
    handlerDescriptor.store(ends[1], ordering: .sequentiallyConsistent)
    try startThread()
  }

  func add(
    _ signals: Set<Signal>, thenIgnored: Bool, _ continuation: AsyncStream<Signal>.Continuation
  ) -> Int {
    state.withLock { state in
      state.nextID += 1
      state.listeners.append(
        Listener(
          id: state.nextID, signals: signals, thenIgnored: thenIgnored, continuation: continuation))
      for signal in signals { Self.install(signal) }
      return state.nextID
    }
  }

  func remove(_ id: Int) {
    let removed = state.withLock { state -> Listener? in
      guard let index = state.listeners.firstIndex(where: { $0.id == id }) else { return nil }
      let listener = state.listeners.remove(at: index)
      let stillWanted = state.listeners.reduce(into: Set<Signal>()) { $0.formUnion($1.signals) }
      for signal in listener.signals.subtracting(stillWanted) {
        Glibc.signal(signal.number, listener.thenIgnored ? SIG_IGN : SIG_DFL)
      }
      return listener
    }
    // The continuation goes outside the lock: its end may run code of others.
    _ = removed
  }

  private static func install(_ signal: Signal) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in
      let before = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(handlerDescriptor.load(ordering: .sequentiallyConsistent), &byte, 1)
      errno = before
    }
    action.sa_flags = SA_RESTART
    sigaction(signal.number, &action, nil)
  }

  private func startThread() throws(SystemError) {
    var thread = pthread_t()
    // The relay lives as long as the process, so the thread may keep it.
    let context = Unmanaged.passRetained(self)
    let outcome = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<SignalRelay>.fromOpaque(context).takeRetainedValue().relay()
        return nil
      }, context.toOpaque())
    guard outcome == 0 else {
      context.release()
      throw SystemError(.system, "no thread for signals can be started", errno: outcome)
    }
    pthread_detach(thread)
  }

  private func relay() {
    var byte: UInt8 = 0
    while true {
      let count = read(readEnd, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return }
      guard let signal = Signal(number: Int32(byte)) else { continue }
      let listening = state.withLock { $0.listeners.filter { $0.signals.contains(signal) } }
      for listener in listening { listener.continuation.yield(signal) }
    }
  }
}
