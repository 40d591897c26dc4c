import Support

/// What one who watches has seen so far. Looks overlap, so that nothing is lost which others commit late; here each
/// event comes out once, and those of a job in their order.
struct EventHistory: Sendable {
  private enum Key: Hashable {
    case event(QueueEvent.Kind, JobID?, String?, Double)
    case started(JobID, Int)
  }

  /// From when on past events are shown; nil: none from before the first look.
  private let since: Double?
  private let isFiltered: Bool
  private var seen = RecentSet<Key>(capacity: 200_000)
  private var refusals: [BatchID?: Int] = [:]
  private var isFirst = true
  /// What workers had reported as ended when all of it was shown, and how many ends were shown since.
  private var reported: Int?
  private var ended = 0
  /// When lanes were outrun last.
  private var outrunAt: Double?

  /// Workers report every two seconds; so long after lanes were outrun their reports show it.
  private static let reportsAfter = 5.0

  /// - Parameters:
  ///   - since: From when on events are shown that happened before the first look, in seconds since 1970.
  ///   - isFiltered: Whether a part of the queue is watched.
  init(since: Double? = nil, isFiltered: Bool = false) {
    (self.since, self.isFiltered) = (since, isFiltered)
  }

  /// What a look has found that is new, in the order of time.
  mutating func events(of look: WatchLook) -> [QueueEvent] {
    defer { isFirst = false }
    if isFirst {
      for (job, place) in zip(look.position.jobs, look.position.places) where place > 0 {
        _ = seen.insert(.started(JobID(job), Int(place) / 16))
      }
    }
    var new: [QueueEvent] = []
    for event in look.events { new += take(event) }
    if isFirst { new = since.map { since in new.filter { $0.at >= since } } ?? [] }
    ended += new.reduce(0) { $0 + ($1.kind == .done || $1.kind == .dead ? 1 : 0) }
    if let left = leftOut(look) { new.append(left) }
    return new.sorted {
      ($0.at, $0.kind.rank, $0.job ?? JobID(0)) < ($1.at, $1.kind.rank, $1.job ?? JobID(0))
    }
  }

  /// The event, if it is new, and before an end the start that no look has seen.
  private mutating func take(_ event: QueueEvent) -> [QueueEvent] {
    switch event.kind {
    case .refused:
      return refused(event).map { [$0] } ?? []
    case .started:
      if let job = event.job { _ = seen.insert(.started(job, event.attempt ?? 0)) }
      return [event]
    default:
      let what =
        event.job == nil ? [event.subject, event.name].compactMap { $0 }.joined(separator: " ") : nil
      guard seen.insert(.event(event.kind, event.job, what, event.at)) else { return [] }
      // The attempt of which it died: once it is queued again no row says any more that it was the last.
      if event.kind == .dead { _ = seen.insert(.event(.retried, event.job, nil, event.at)) }
      return event.kind == .done ? [start(of: event), event].compactMap { $0 } : [event]
    }
  }

  private mutating func start(of end: QueueEvent) -> QueueEvent? {
    guard let job = end.job, let milliseconds = end.callMilliseconds,
      seen.insert(.started(job, end.attempt ?? 0))
    else { return nil }
    var start = QueueEvent(.started, at: end.at - Double(milliseconds) / 1000)
    (start.job, start.user, start.lane) = (end.job, end.user, end.lane)
    (start.batch, start.reference, start.file) = (end.batch, end.reference, end.file)
    start.attempt = end.attempt
    return start
  }

  private mutating func refused(_ event: QueueEvent) -> QueueEvent? {
    let before = refusals.updateValue(event.count ?? 0, forKey: event.batch) ?? 0
    guard !isFirst, let count = event.count, count > before else { return nil }
    var event = event
    event.count = count - before
    return event
  }

  /// That ends were missed, once the reports of the workers tell how many. Of a part of the queue they do not.
  private mutating func leftOut(_ look: WatchLook) -> QueueEvent? {
    let now = look.position.at
    if look.outrun > 0 { outrunAt = now }
    guard let outrunAt else {
      (reported, ended) = (look.reported, 0)
      return nil
    }
    guard now - outrunAt >= Self.reportsAfter else { return nil }
    var event = QueueEvent(.leftOut, at: now)
    event.subject = QueueEvent.Kind.done.rawValue
    if !isFiltered, let reported, let total = look.reported { event.count = max(0, total - reported - ended) }
    self.outrunAt = nil
    (reported, ended) = (look.reported, 0)
    return event.count == 0 ? nil : event
  }
}

/// The last of the values that were put in.
private struct RecentSet<Value: Hashable & Sendable>: Sendable {
  private let capacity: Int
  private var values: Set<Value> = []
  private var order: [Value] = []
  private var oldest = 0

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Puts a value in; false where it is in.
  mutating func insert(_ value: Value) -> Bool {
    guard values.insert(value).inserted else { return false }
    if order.count < capacity {
      order.append(value)
    } else {
      values.remove(order[oldest])
      order[oldest] = value
      oldest = (oldest + 1) % capacity
    }
    return true
  }
}
