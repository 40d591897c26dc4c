internal import EventLoop
internal import HTTPServing
internal import PostgreSQL
internal import Queue
internal import Support

/// What happens to the users whose apps listen. While any do, the database is asked for all of them together: one
/// statement for each shard, and for a thousand of them. While none do it is not asked.
actor UserEvents {
  private struct Listener {
    let token: AppToken
    var position: EventPosition
    /// Whether no look was for it yet.
    var isNew = true
    var continuation: CheckedContinuation<Void, Never>?
  }

  /// As many as one statement asks for.
  private static let atOnce = 1000
  /// Between looks, however many hints come.
  private static let leastPause: Duration = .milliseconds(250)
  /// Between looks at most, however long one takes.
  private static let longestPause: Duration = .seconds(5)
  /// Between signs of life, which are also when limits are looked at.
  private static let beatEvery: Duration = .seconds(15)
  /// As many events of one user as a look sends; where there are more, the event `missed` comes before them.
  private static let most = 200

  private let database: ConnectionPool
  private let loop: EventLoop
  private let events: HTTPEvents
  private let log: Log
  private let meters: GatewayMeters
  private let lookEvery: Duration
  private let bell: Bell
  private var listeners: [String: Listener] = [:]
  private var isLooking = false
  private var isBeating = false
  private var wantsLimits = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(
    _ database: ConnectionPool, _ events: HTTPEvents, _ log: Log, _ meters: GatewayMeters, lookEvery: Duration
  ) {
    self.database = database
    self.loop = database.loop
    self.events = events
    self.log = log
    self.meters = meters
    self.lookEvery = lookEvery
    bell = Bell(loop: database.loop)
  }

  /// Sends a topic what happens to the user of a token, until the task is cancelled or the token is not valid any more.
  func listen(_ token: AppToken, after position: EventPosition, to topic: String) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        guard !Task.isCancelled else { return continuation.resume() }
        listeners[topic] = Listener(token: token, position: position, continuation: continuation)
        begin()
        bell.ring()
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.remove(topic) } }
    }
  }

  /// Somebody says that jobs have ended.
  func hint() {
    if !listeners.isEmpty { bell.ring() }
  }

  private func remove(_ topic: String) {
    listeners.removeValue(forKey: topic)?.continuation?.resume()
  }

  // MARK: Looking

  /// Begins to look and to give signs of life where nobody does. The tasks live as long as somebody listens.
  private func begin() {
    if !isLooking {
      isLooking = true
      Task(executorPreference: loop) { await self.look() }
    }
    if !isBeating {
      isBeating = true
      Task(executorPreference: loop) { await self.beat() }
    }
  }

  /// Apart from the looks, which wait while the database is away.
  private func beat() async {
    while !listeners.isEmpty {
      try? await loop.sleep(for: Self.beatEvery)
      for (topic, listener) in listeners { events.beat(topic, id: listener.position.text) }
      wantsLimits = true
    }
    isBeating = false
  }

  private func look() async {
    var retries = RetryPauses(.database)
    while !listeners.isEmpty {
      let began = EventLoop.now
      let withLimits = wantsLimits
      var rest = lookEvery
      do {
        for (shard, some) in Dictionary(grouping: listeners.keys, by: { listeners[$0]?.token.shard ?? 0 }) {
          for start in stride(from: 0, to: some.count, by: Self.atOnce) {
            try await look(Array(some[start..<min(start + Self.atOnce, some.count)]), in: shard, withLimits)
          }
        }
        if withLimits { wantsLimits = false }
        retries.reset()
      } catch {
        rest = retries.next()
        meters.databaseErrors.add()
        if retries.failures == 1 {
          log.warning(
            "What has happened to users cannot be asked for; asking goes on", ["error": .string("\(error)")])
        }
      }
      // However many listen, a connection has most of its time for others.
      let pause = min(max(Self.leastPause, (EventLoop.now - began) * 9), Self.longestPause)
      try? await loop.sleep(for: pause)
      if rest > pause { await bell.wait(atMost: rest - pause) }
    }
    isLooking = false
  }

  /// Looks at some topics of a shard, and sends each what has happened.
  private func look(_ topics: [String], in shard: Int16, _ withLimits: Bool) async throws(JobQueueError) {
    let asked = topics.compactMap { topic in listeners[topic].map { (topic: topic, listener: $0) } }
    // Who has just come is asked for the limit at once.
    let withLimits = withLimits || asked.contains { $0.listener.isNew }
    let happened = try await Self.statement(asked.map(\.listener), shard, withLimits: withLimits)
      .run(on: database)
    let rows = Dictionary(grouping: happened, by: \.place)
    for (index, (topic, _)) in asked.enumerated() where listeners[topic] != nil {
      guard let rows = rows[index + 1] else {
        // The token is not valid any more: the app renews it, and comes again.
        events.end(topic)
        remove(topic)
        continue
      }
      send(rows, to: topic, withLimits)
    }
  }

  private func send(_ rows: [Happened], to topic: String, _ withLimits: Bool) {
    guard var listener = listeners[topic], let cursor = rows.first?.cursor else { return }
    var news = rows.filter { $0.event != nil && $0.event != "limit" }.sorted { ($0.at ?? 0) < ($1.at ?? 0) }
      .map { (name: $0.event ?? "", data: $0.shape) }
    if news.count > Self.most {
      news = [(name: "missed", data: [:])] + news.suffix(Self.most)
    }
    if withLimits {
      let limit = rows.first { $0.event == "limit" }.map {
        EventPosition.Limit(month: $0.state ?? "", percent: Int($0.number ?? 0))
      }
      if let limit, limit.isNews(after: listener.position.limit) {
        news.append((name: "limit", data: limit.shape))
      }
      listener.position.limit = limit
    }
    let isNew = listener.isNew
    listener.position.cursor = cursor
    listener.isNew = false
    listeners[topic] = listener
    let id = listener.position.text
    // With the last alone: who is cut off before it hears all of them again.
    for (index, event) in news.enumerated() {
      events.send(event.name, event.data.json, id: index == news.count - 1 ? id : nil, to: topic)
    }
    if news.isEmpty, isNew { events.beat(topic, id: id) }
  }

  private static func statement(
    _ listeners: [Listener], _ shard: Int16, withLimits: Bool
  ) -> Statement<[Happened]> {
    Statement(
      SQLFunction("gateway_events", 4),
      [
        .int16(shard), .array(listeners.map(\.token.hash)), .array(listeners.map(\.position.cursor)),
        .bool(withLimits),
      ], as: [Happened].self, while: "asking what has happened to users")
  }

  private struct Happened: Decodable {
    let place: Int
    let cursor: String
    let event: String?
    let number: Int64?
    let state, role, person: String?
    let at: Double?

    var shape: JSONValue {
      let id = JSONValue.text(number.map { String($0) })
      let moment = JSONValue.text(at.map { AnswerShapes.moment($0) })
      guard event == "share" else {
        return ["id": id, "type": .text(role), "state": .text(state), "at": moment]
      }
      return [
        "id": id, "role": .text(role), role == "carer" ? "user" : "with": .text(person),
        "state": .text(state), "at": moment,
      ]
    }
  }
}

/// Up to where an app has heard what happens to its user: what it names when it comes again (`Last-Event-ID`).
struct EventPosition: Sendable, Equatable {
  /// The limit that was reported last.
  struct Limit: Sendable, Equatable {
    let month: String
    let percent: Int

    func isNews(after other: Limit?) -> Bool {
      other.map { $0.month != month || $0.percent < percent } ?? true
    }

    var shape: JSONValue { ["percent": .count(percent), "month": .string(month)] }
  }

  /// As the database answers it; nil: from now on.
  var cursor: String?
  var limit: Limit?

  init() {}

  /// Reads one that was sent; what is none begins now.
  init(_ text: String) {
    guard text.utf8.count <= 2100, !text.contains("\0") else { return }
    let parts = text.split(separator: ";", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2 else { return }
    cursor = parts[0] + ";" + parts[1]
    let reported = parts.count > 2 ? parts[2].split(separator: "/") : []
    if reported.count == 2, let percent = Int(reported[1]) {
      limit = Limit(month: String(reported[0]), percent: percent)
    }
  }

  var text: String? {
    cursor.map { $0 + (limit.map { ";\($0.month)/\($0.percent)" } ?? "") }
  }
}
