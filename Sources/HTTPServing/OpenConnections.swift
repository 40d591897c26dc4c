internal import Cmicrohttpd
internal import Glibc
internal import Support
internal import Synchronization

/// The connections of a daemon, and how far each has come: so that a new one comes in or is refused in words, that a
/// client which sends too slowly gets 408, and that one which has gone is not waited for.
final class OpenConnections: Sendable {
  /// What a connection is about.
  private enum Stage {
    /// No first line of a request has come on it, since then.
    case silent(since: ContinuousClock.Instant)
    /// Its request was answered, or has ended: for its client to read the answer, and to send another request.
    case answered
    /// The first line of a request is there; how long its headers have been awaited.
    case headers(since: ContinuousClock.Instant)
    /// A body comes in.
    case body(BodyPace)
    /// A whole request is there, or its headers, and what comes of it is being made or never ends.
    case kept
  }

  private struct Open {
    let socket: Int32
    /// The order in which they came.
    let number: UInt64
    var stage: Stage
    /// Whether it came when there were as many as there may be, and is to be refused.
    var isSurplus = false
  }

  private struct State {
    var open: [HTTPConnection: Open] = [:]
    var lastNumber: UInt64 = 0
  }

  private let most: Int
  private let closesOldest: Bool
  private let state = Mutex(State())

  /// - Parameter closesOldest: Whether one too many closes the oldest that is not kept; otherwise it closes the oldest
  ///   that has asked for nothing or was answered, or else is refused itself.
  init(atMost most: Int, closesOldest: Bool) {
    self.most = most
    self.closesOldest = closesOldest
  }

  /// A connection was taken. One that ends for it is seen by the library as closed by its client; its socket is still
  /// this process's, for `ended` is called before it is closed.
  func began(_ connection: HTTPConnection) {
    let socket = connection.socket
    state.withLock { state in
      var isSurplus = false
      if state.open.count >= most {
        if let oldest = oldestToClose(state) {
          state.open[oldest].map { _ = shutdown($0.socket, Int32(SHUT_RDWR)) }
          state.open[oldest] = nil
        } else {
          isSurplus = !closesOldest
        }
      }
      state.lastNumber += 1
      state.open[connection] = Open(
        socket: socket, number: state.lastNumber, stage: .silent(since: .now), isSurplus: isSurplus)
    }
  }

  private func oldestToClose(_ state: State) -> HTTPConnection? {
    state.open.filter { _, open in
      switch open.stage {
      case .kept: false
      case .silent, .answered: true
      case .headers, .body: closesOldest
      }
    }.min { $0.value.number < $1.value.number }?.key
  }

  /// Its socket is about to be closed.
  func ended(_ connection: HTTPConnection) {
    state.withLock { $0.open[connection] = nil }
  }

  /// Whether there are too many, and it is the one to be refused.
  func isSurplus(_ connection: HTTPConnection) -> Bool {
    state.withLock { $0.open[connection]?.isSurplus ?? false }
  }

  /// The first line of a request is there.
  func requestBegan(_ connection: HTTPConnection) {
    state.withLock { state in
      switch state.open[connection]?.stage {
      // Who was silent for long has the less time for the headers.
      case .silent(let since): state.open[connection]?.stage = .headers(since: since)
      case .answered: state.open[connection]?.stage = .headers(since: .now)
      default: break
      }
    }
  }

  /// A request's body is read from now on.
  func bodyBegins(_ connection: HTTPConnection) {
    change(connection, .body(BodyPace(at: .now)))
  }

  /// Bytes of a body came.
  func received(_ count: Int, _ connection: HTTPConnection) {
    state.withLock { state in
      guard case .body(var pace) = state.open[connection]?.stage else { return }
      pace.received(count, at: .now)
      state.open[connection]?.stage = .body(pace)
    }
  }

  /// Its request is there: what it asked for is being made.
  func keep(_ connection: HTTPConnection) { change(connection, .kept) }

  /// Its whole answer is there, for it to read or not, or its request has ended.
  func release(_ connection: HTTPConnection) { change(connection, .answered) }

  private func change(_ connection: HTTPConnection, _ stage: Stage) {
    state.withLock { $0.open[connection]?.stage = stage }
  }

  /// Ends the connections whose clients send a request too slowly, or none: they are sent an answer.
  ///
  /// - Parameter answer: What they are sent; nil to be closed without words, as over TLS, where only the library's
  ///   thread may write.
  /// - Returns: How many there were.
  func endSlow(_ least: HTTPDaemon.LeastPace, now: ContinuousClock.Instant, answer: [UInt8]?) -> Int {
    state.withLock { state in
      var ended = 0
      for (connection, open) in state.open {
        switch open.stage {
        case .silent(let since) where now - since > least.silence: break
        case .headers(let since) where now - since > least.silence: break
        case .body(var pace):
          guard pace.isTooSlow(least, at: now) else {
            state.open[connection]?.stage = .body(pace)
            continue
          }
        default: continue
        }
        // Nothing else is being sent: an answer is begun when the whole request is there.
        if let answer {
          _ = answer.withUnsafeBytes {
            send(open.socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
          }
        }
        shutdown(open.socket, Int32(SHUT_RDWR))
        state.open[connection] = nil
        ended += 1
      }
      return ended
    }
  }

  /// How many have a request under way.
  var busy: Int {
    state.withLock { state in
      state.open.values.count {
        switch $0.stage {
        case .kept, .body: true
        case .silent, .answered, .headers: false
        }
      }
    }
  }

  /// Those for which something is being made, and whose clients have broken them off. One that has closed its side alone
  /// may still read.
  func abandoned() -> [HTTPConnection] {
    state.withLock { state in
      let kept = state.open.filter { if case .kept = $1.stage { true } else { false } }
      guard !kept.isEmpty else { return [] }
      var descriptors = kept.map { pollfd(fd: $0.value.socket, events: 0, revents: 0) }
      guard poll(&descriptors, nfds_t(descriptors.count), 0) > 0 else { return [] }
      return zip(kept.keys, descriptors).filter { $1.revents != 0 }.map { $0.0 }
    }
  }
}

/// How fast a body comes in.
struct BodyPace {
  /// How long a whole body may take, however evenly it comes: it holds memory that all share.
  private static let longest: Duration = .seconds(120)

  private let began: ContinuousClock.Instant
  private var lastAt: ContinuousClock.Instant
  private var windowBegan: ContinuousClock.Instant
  private var windowBytes = 0

  init(at now: ContinuousClock.Instant) {
    (began, lastAt, windowBegan) = (now, now, now)
  }

  mutating func received(_ count: Int, at now: ContinuousClock.Instant) {
    lastAt = now
    windowBytes += count
  }

  /// Whether nothing has come for so long, too little within that time, or the whole of it takes too long. Looked at
  /// again and again: what came fast before does not count for what comes slowly now.
  mutating func isTooSlow(_ least: HTTPDaemon.LeastPace, at now: ContinuousClock.Instant) -> Bool {
    if now - lastAt > least.silence || now - began > Self.longest { return true }
    let passed = now - windowBegan
    guard passed >= least.silence else { return false }
    if Double(windowBytes) < Double(least.bytesPerSecond) * passed.inSeconds { return true }
    (windowBegan, windowBytes) = (now, 0)
    return false
  }
}
