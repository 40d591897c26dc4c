import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("What pages keep of their readings")
struct ForgettingTests {
  /// A reading that goes on until the test ends it.
  private struct HeldReading: Sendable {
    private let begun = AsyncStream.makeStream(of: Void.self)
    private let ends = AsyncStream.makeStream(of: Void.self)

    func read(_ text: String) async -> String {
      begun.continuation.yield()
      for await _ in ends.stream { break }
      return text
    }

    func untilItBegins() async { for await _ in begun.stream { return } }
    func end() { ends.continuation.yield() }
  }

  private static func cache(_ clock: MovedClock = MovedClock()) -> ReadCache {
    ReadCache(LiveBudget(now: clock.now), now: clock.now)
  }

  @Test("Those who waited for a reading get its failure; whoever comes later has it read again")
  func failed() async throws {
    let cache = Self.cache()
    @Sendable func value(_ read: @escaping @Sendable () async throws -> String) async throws -> String {
      try await cache.value(
        Reading(key: "jobs", age: .seconds(600), statements: 1, read: read), for: .person
      ).value
    }
    let failing: @Sendable () async throws -> String = { throw TestSupportError("away") }
    await #expect(throws: TestSupportError.self) { try await value(failing) }
    #expect(try await value { "read" } == "read")
    #expect(try await value(failing) == "read")
  }

  @Test("Who comes after a change gets a new reading, not the one that began before it and goes on")
  func forgotten() async throws {
    let (cache, held) = (Self.cache(), HeldReading())
    @Sendable func value(_ read: @escaping @Sendable () async -> String) async throws -> String {
      try await cache.value(
        Reading(key: "jobs", age: .seconds(600), statements: 1, read: read), for: .person
      ).value
    }
    let before = Task { try await value { await held.read("old") } }
    await held.untilItBegins()
    await cache.forget()
    #expect(try await value { "new" } == "new")
    held.end()
    #expect(try await before.value == "old")
    #expect(try await value { "newer" } == "new", "the one that ended later is not kept")
  }

  @Test("What takes long to read is shown as it was, for two minutes at most, while it is read anew")
  func slow() async throws {
    let (clock, held) = (MovedClock(), HeldReading())
    let cache = Self.cache(clock)
    let reads = Mutex(0)
    @Sendable func value() async throws -> String {
      try await cache.value(
        .slow("sums", statements: 1) {
          let number = reads.withLock {
            $0 += 1
            return $0
          }
          return number == 1 ? "first" : await held.read("later \(number)")
        }, for: .person
      ).value
    }
    #expect(try await value() == "first")
    clock.pass(.seconds(60))
    #expect(try await value() == "first")
    await held.untilItBegins()
    clock.pass(.seconds(59))
    #expect(try await value() == "first")
    clock.pass(.seconds(1))
    let waiting = Task { try await value() }
    held.end()
    #expect(try await waiting.value == "later 2")
    #expect(reads.withLock { $0 } == 2, "it is read once, however many ask")
  }

  @Test("Those who wait for a slow reading get its failure; whoever comes later has it read again")
  func slowFailure() async throws {
    let clock = MovedClock()
    let cache = Self.cache(clock)
    let fails = Mutex(true)
    @Sendable func value() async throws -> String {
      try await cache.value(
        .slow("sums", statements: 1) {
          if fails.withLock({ $0 }) { throw TestSupportError("away") }
          return "read"
        }, for: .person
      ).value
    }
    await #expect(throws: TestSupportError.self) { try await value() }
    fails.withLock { $0 = false }
    #expect(try await value() == "read")
    fails.withLock { $0 = true }
    clock.pass(.seconds(119))
    #expect(try await value() == "read")
    clock.pass(.seconds(1))
    await #expect(throws: TestSupportError.self) { try await value() }
  }

  @Test(
    "Counts of many jobs that took long are shown with their age while they are counted anew, others are not")
  func countedAnew() async throws {
    let (clock, held) = (MovedClock(), HeldReading())
    let cache = Self.cache(clock)
    // How many jobs there are, and how long each count takes.
    let jobs = Mutex(1000)
    let seconds = Mutex(1)
    @Sendable func count() async throws -> String {
      let (value, age) = try await cache.value(
        Reading(key: "B1", statements: 2, mayBeOld: { BatchesPage.isSlow($0, $1) }) {
          if seconds.withLock({ $0 }) < 0 { _ = await held.read("") }
          clock.pass(.seconds(max(0, seconds.withLock { $0 })))
          return jobs.withLock { $0 }
        }, for: .person)
      return age == nil ? "\(value)" : "\(value), old"
    }
    #expect(try await count() == "1000")
    clock.pass(QueueMonitor.statusAge)
    seconds.withLock { $0 = -1 }
    jobs.withLock { $0 = 999 }
    #expect(try await count() == "1000, old")
    await held.untilItBegins()
    // A change has the count that goes on thrown away, and the next one shown.
    await cache.forget()
    seconds.withLock { $0 = 1 }
    #expect(try await count() == "1000, old")
    held.end()
    while try await count() == "1000, old" { await Task.yield() }
    #expect(try await count() == "999")
    clock.pass(QueueMonitor.statusAge)
    jobs.withLock { $0 = 998 }
    #expect(try await count() == "998", "fewer jobs are waited for")
    await cache.forget()
    jobs.withLock { $0 = 997 }
    #expect(try await count() == "997")
  }

  @Test("The queue is read anew for who comes after a change, though it was being read during the change")
  func queue() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser()
      let monitor = QueueMonitor(queue.pool)
      let (before, after) = try await queue.pool.transaction { (transaction) async throws in
        try await transaction.execute(script: "LOCK TABLE analysis.queue_history IN ACCESS EXCLUSIVE MODE")
        let before = Task { try await monitor.current().status.waiting.value }
        // What it answers is of the moment at which it began.
        try await queue.untilSomebodyWaits()
        _ = try await queue.submit(1)
        await monitor.forget()
        return (before, Task { try await monitor.current().status.waiting.value })
      }
      #expect(try await after.value == 1)
      _ = try await before.value
      #expect(try await monitor.current().status.waiting.value == 1)
    }
  }

  @Test("A reading that began before a change and fails is no answer to who comes after it")
  func failedDuringChange() async throws {
    try await withQueue { (queue) async throws in
      let monitor = QueueMonitor(queue.pool)
      let after = try await queue.pool.transaction { (transaction) async throws in
        try await transaction.execute(script: "LOCK TABLE analysis.queue_history IN ACCESS EXCLUSIVE MODE")
        let before = Task { try await monitor.current().status.waiting.value }
        try await queue.untilSomebodyWaits()
        await monitor.forget()
        let after = Task { try await monitor.current().status.waiting.value }
        _ = try await transaction.query(
          """
          SELECT pg_cancel_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'
          """)
        await #expect(throws: (any Error).self) { try await before.value }
        return after
      }
      #expect(try await after.value == 0)
    }
  }
}
