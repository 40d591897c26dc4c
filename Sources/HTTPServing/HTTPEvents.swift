internal import Synchronization

/// Events for the clients that listen, each for all who listen to its topic (`text/event-stream`).
///
/// Their number is bounded, and so is what is kept for one that does not read: its connection is closed, and it comes again.
public final class HTTPEvents: Sendable {
  private struct State {
    var isClosed = false
    var count = 0
    /// By topic: what is sent to one costs nothing for thousands who listen to others.
    var listeners: [String: [EventQueue]] = [:]
  }

  private let most: Int
  private let state = Mutex(State())

  /// Events without a listener.
  ///
  /// - Parameter most: How many may listen at once.
  public init(atMost most: Int) {
    self.most = most
  }

  /// How many listen.
  public var listeners: Int { state.withLock { $0.count } }

  /// Tells all who listen to a topic of an event. Neither its name nor its data has a line break.
  ///
  /// - Parameter id: What a client that comes again names as the last it has heard (`Last-Event-ID`).
  public func send(_ name: String, _ data: String = "", id: String? = nil, to topic: String = "") {
    add("\(id.map { "id: \($0)\n" } ?? "")event: \(name)\ndata: \(data)\n\n", to: topic)
  }

  /// Sends all who listen to a topic a line that is no event, so that nobody between takes the connection for idle, and
  /// one whose client has gone is found.
  ///
  /// - Parameter id: Up to where the client has heard all there was.
  public func beat(_ topic: String = "", id: String? = nil) {
    add("\(id.map { "id: \($0)" } ?? ":")\n\n", to: topic)
  }

  /// Ends those who listen to a topic, once they have been sent what they were told.
  public func end(_ topic: String) {
    for queue in queues(topic) { queue.finish() }
  }

  private func add(_ text: String, to topic: String) {
    let bytes = Array(text.utf8)
    for queue in queues(topic) { queue.add(bytes) }
  }

  private func queues(_ topic: String) -> [EventQueue] {
    state.withLock { $0.listeners[topic] ?? [] }
  }

  /// A listener's body; nil where there are too many already, or the server stops.
  func open(
    _ connection: HTTPConnection, topic: String, closed: @escaping @Sendable () -> Void
  ) -> HTTPBodyReader? {
    let queue = EventQueue(connection, topic)
    let isOpen = state.withLock { state in
      guard !state.isClosed, state.count < most else { return false }
      state.count += 1
      state.listeners[topic, default: []].append(queue)
      return true
    }
    guard isOpen else { return nil }
    // The browser hears at once that it listens, and comes again after so many milliseconds if its connection is closed.
    queue.add(Array("retry: 3000\n\n".utf8))
    return EventBody(queue) { [weak self] in
      self?.remove(queue)
      closed()
    }
  }

  private func remove(_ queue: EventQueue) {
    state.withLock { state in
      state.count -= 1
      state.listeners[queue.topic]?.removeAll { $0 === queue }
      if state.listeners[queue.topic]?.isEmpty == true { state.listeners[queue.topic] = nil }
    }
  }

  /// Ends all of them, and opens none from now on.
  public func close() {
    let queues = state.withLock { state in
      state.isClosed = true
      return state.listeners.values.flatMap { $0 }
    }
    for queue in queues { queue.end() }
  }
}

/// What is still to be sent to one listener.
private final class EventQueue: Sendable {
  private struct State {
    var pending: [UInt8] = []
    var isSuspended = false
    /// Nothing more is sent.
    var isOver = false
    /// Nothing more is to come.
    var isFinished = false
  }

  private static let largest = 64 << 10

  let topic: String
  private let connection: HTTPConnection
  private let state = Mutex(State())

  init(_ connection: HTTPConnection, _ topic: String) {
    self.connection = connection
    self.topic = topic
  }

  func add(_ bytes: [UInt8]) {
    change { state in
      state.pending += bytes
      if state.pending.count > Self.largest { state.isOver = true }
    }
  }

  func end() { change { $0.isOver = true } }

  /// Ends when all is sent.
  func finish() { change { $0.isFinished = true } }

  /// Changes what there is to be sent, and has the connection go on if it waits for that.
  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      guard !state.isOver else { return }
      body(&state)
      // Under the lock, so that each `suspend` is followed by one `resume`.
      if state.isSuspended { connection.resume() }
      state.isSuspended = false
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyReader.Step {
    state.withLock { state in
      if state.isOver { return .end }
      let count = min(buffer.count, state.pending.count)
      guard count > 0 else {
        if state.isFinished { return .end }
        state.isSuspended = true
        connection.suspend()
        return .bytes(0)
      }
      buffer.copyBytes(from: state.pending.prefix(count))
      state.pending.removeFirst(count)
      return .bytes(count)
    }
  }
}

/// Reads what is in a listener's queue.
private final class EventBody: HTTPBodyReader {
  private let queue: EventQueue
  private let ended: @Sendable () -> Void

  init(_ queue: EventQueue, ended: @escaping @Sendable () -> Void) {
    self.queue = queue
    self.ended = ended
  }

  deinit {
    queue.end()
    ended()
  }

  override func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Step {
    queue.read(into: buffer)
  }
}
