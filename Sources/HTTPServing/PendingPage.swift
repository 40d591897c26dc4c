internal import Synchronization

/// A page that is being made, or something that is decided of a request. Its connection may be suspended for it.
final class PendingPage: Sendable {
  private struct State {
    var isFinished = false
    var isAbandoned = false
    var isSuspended = false
    var answer: HTTPAnswer?
    var whenFinished: (@Sendable () -> Void)?
    var whenAbandoned: (@Sendable () -> Void)?
  }

  let connection: HTTPConnection
  private let state = Mutex(State())

  init(_ connection: HTTPConnection) {
    self.connection = connection
  }

  /// What there is to be sent; nil where the request goes on, or nothing was decided yet.
  var answer: HTTPAnswer? { state.withLock { $0.answer } }

  /// Whether it was decided what becomes of the request.
  var isFinished: Bool { state.withLock { $0.isFinished } }

  /// Suspends the connection until it is finished; false where it is.
  func suspend() -> Bool {
    state.withLock { state in
      guard !state.isFinished else { return false }
      // Under the lock, so that it is suspended before it is resumed.
      if !state.isSuspended { connection.suspend() }
      state.isSuspended = true
      return true
    }
  }

  /// Calls the closure when it is finished, at once if it is.
  func whenFinished(_ body: @escaping @Sendable () -> Void) {
    let isFinished = state.withLock { state in
      if !state.isFinished { state.whenFinished = body }
      return state.isFinished
    }
    if isFinished { body() }
  }

  /// Calls the closure when the client has gone, at once if it has.
  func whenAbandoned(_ body: @escaping @Sendable () -> Void) {
    let isAbandoned = state.withLock { state in
      if !state.isAbandoned, !state.isFinished { state.whenAbandoned = body }
      return state.isAbandoned
    }
    if isAbandoned { body() }
  }

  /// The client has gone.
  func abandon() {
    let told = state.withLock { state in
      state.isAbandoned = true
      defer { state.whenAbandoned = nil }
      return state.whenAbandoned
    }
    told?()
  }

  /// The connection goes on with this answer, or without one. Called once.
  func finish(_ answer: HTTPAnswer?) {
    let (told, isSuspended) = state.withLock { state in
      state.answer = answer
      state.isFinished = true
      state.whenAbandoned = nil
      defer { state.whenFinished = nil }
      return (state.whenFinished, state.isSuspended)
    }
    told?()
    if isSuspended { connection.resume() }
  }
}
