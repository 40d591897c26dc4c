internal import Synchronization

/// A page that is being made, or something that is decided of a request, while its connection is suspended.
final class PendingPage: Sendable {
  private struct State {
    var isFinished = false
    var isAbandoned = false
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
    let told = state.withLock { state in
      state.answer = answer
      state.isFinished = true
      state.whenAbandoned = nil
      defer { state.whenFinished = nil }
      return state.whenFinished
    }
    told?()
    connection.resume()
  }
}
