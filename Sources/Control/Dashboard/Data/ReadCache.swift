import HTTPServing
import Synchronization

/// Something that pages show of the database.
struct Reading<Value: Sendable>: Sendable {
  /// Names the question with all its filters.
  let key: String
  /// How old it is when it is read anew.
  var age: Duration = QueueMonitor.statusAge
  /// How many statements it takes at most.
  let statements: Int
  /// Whether the page says how old it is where it was not its turn to be read.
  var saysAge = true
  /// Whether a value may be shown while it is read anew, by how long it took to read. Of any other everybody waits for
  /// the new one.
  var mayBeOld: @Sendable (Value, _ took: Duration) -> Bool = { _, _ in false }
  /// Whether it is read anew only when it is old, also where something was changed.
  var outlastsChanges = false
  let read: @Sendable () async throws -> Value

  /// What takes long to read, such as sums over all users: it is read anew once a minute while somebody looks, and who
  /// comes meanwhile is shown what was read before.
  static func slow(
    _ key: String, statements: Int, _ read: @escaping @Sendable () async throws -> Value
  ) -> Reading {
    Reading(
      key: key, age: .seconds(60), statements: statements, mayBeOld: { _, _ in true }, outlastsChanges: true,
      read: read)
  }
}

/// What pages have read of the database. Whoever comes within some seconds gets the same, so that the number of
/// browsers does not matter, and whoever comes while it is read waits for that.
actor ReadCache {
  private struct Entry {
    var last: (value: any Sendable, began: ContinuousClock.Instant, took: Duration)?
    /// Why it could not be read since.
    var failure: (any Error)?
    /// Whether something was changed since it was read.
    var isStale = false
    var running: (number: Int, task: Task<any Sendable, any Error>)?
    let outlastsChanges: Bool
    var askedAt: ContinuousClock.Instant
  }

  /// Pages with other filters are other entries; the one makes room for which nobody has asked for longest.
  private static let most = 256

  private let budget: LiveBudget
  private let now: @Sendable () -> ContinuousClock.Instant
  private var entries: [String: Entry] = [:]
  private var begun = 0

  init(_ budget: LiveBudget, now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.budget = budget
    self.now = now
  }

  /// What a reading has come to, unless that is older than it may be; then it is read again, once for all who ask. A
  /// page that brings itself up to date is answered with the last one where it is not its turn.
  ///
  /// - Returns: The value, and how old it is where a newer one is being read.
  /// - Throws: What the reading threw, to whoever waits for it; a `PageFailure` where it is not its turn and nothing is
  ///   known.
  func value<Value>(
    _ reading: Reading<Value>, for visit: Visit
  ) async throws -> (value: Value, age: Duration?) {
    let (key, now) = ("\(Value.self) \(reading.key)", now())
    var entry = entries[key] ?? Entry(outlastsChanges: reading.outlastsChanges, askedAt: now)
    entry.askedAt = now
    let last = entry.last.map { (value: Self.cast($0.value, Value.self), age: now - $0.began, took: $0.took) }
    let isDue = last.map { $0.age >= reading.age } ?? true
    if isDue || entry.isStale, entry.running == nil {
      if budget.allows(reading.statements, for: key, readAt: entry.last?.began, to: visit) {
        entry.running = begin(key, reading)
      } else if let failure = entry.failure {
        throw failure
      }
    }
    entries[key] = entry
    makeRoom()
    if let last {
      if !isDue, !entry.isStale { return (last.value, nil) }
      if last.age < LiveBudget.oldest {
        if entry.running == nil {
          if reading.saysAge { visit.note(last.age) }
          return (last.value, nil)
        }
        if reading.mayBeOld(last.value, last.took) { return (last.value, last.age) }
      }
    }
    guard let running = entry.running else { throw PageFailure.notItsTurn }
    return (Self.cast(try await running.task.value, Value.self), nil)
  }

  /// Has everything read anew, since something was changed. What is being read is shown to nobody who comes later.
  func forget() {
    for (key, entry) in entries where !entry.outlastsChanges {
      entries[key]?.isStale = true
      entries[key]?.running = nil
    }
  }

  private func begin<Value>(
    _ key: String, _ reading: Reading<Value>
  ) -> (number: Int, task: Task<any Sendable, any Error>) {
    begun += 1
    let (number, began) = (begun, now())
    let task = Task { () async throws -> any Sendable in
      do {
        let value = try await reading.read()
        end(key, number) { [now] entry in
          entry.last = (value, began, now() - began)
          entry.isStale = false
          entry.failure = nil
        }
        return value
      } catch {
        // Those who waited get the failure. Whoever comes later has it read again.
        end(key, number) { $0.failure = error }
        throw error
      }
    }
    return (number, task)
  }

  private func end(_ key: String, _ number: Int, _ change: (inout Entry) -> Void) {
    guard var entry = entries[key], entry.running?.number == number else { return }
    entry.running = nil
    change(&entry)
    entries[key] = entry
  }

  private func makeRoom() {
    guard entries.count > Self.most, let oldest = entries.min(by: { $0.value.askedAt < $1.value.askedAt })
    else { return }
    entries[oldest.key] = nil
  }

  /// The key names the type.
  private static func cast<Value>(_ value: any Sendable, _: Value.Type) -> Value {
    guard let value = value as? Value else { preconditionFailure("a reading is of another type") }
    return value
  }
}

/// A request for a page: whether a person asks or the page itself, and how old that is with which it is answered.
final class Visit: Sendable {
  /// What the address of a page has that loads itself anew without scripts.
  static let reloadMark = "live"

  /// Somebody who is answered at once.
  static let person = Visit(isLive: false)

  /// Whether the page that is open only brings itself up to date.
  let isLive: Bool
  private let oldest = Mutex<Duration?>(nil)

  init(isLive: Bool) {
    self.isLive = isLive
  }

  /// The visit of a request. The script says in a header that it asks. Without scripts the page is loaded by an address
  /// with a mark; where the browser says that a person has it loaded by that address, it is a person's.
  convenience init(_ request: HTTPRequest) {
    let isReload = request.query[Self.reloadMark] != nil && request.headers["sec-fetch-user"] != "?1"
    self.init(isLive: request.headers["x-live"] != nil || isReload)
  }

  /// Notes that something is shown which is older than it would be if it had been its turn.
  func note(_ age: Duration) { oldest.withLock { $0 = max($0 ?? .zero, age) } }

  /// How old the oldest of that is; nil where nothing is.
  var age: Duration? { oldest.withLock { $0 } }
}
