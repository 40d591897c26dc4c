import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Watching the queue")
struct QueueWatchTests {
  /// One who watches, look by look.
  private struct Watcher {
    let watch: QueueWatch
    let ahead: Int
    var history: EventHistory
    var position: WatchPosition?
    var last: WatchLook?

    init(
      _ database: ConnectionPool, _ filter: QueueWatch.Filter = .init(), since: Double? = nil,
      ahead: Int = 500
    ) async throws {
      watch = QueueWatch(database, filter)
      self.ahead = ahead
      history = EventHistory(since: since, isFiltered: filter != .init())
      _ = try await look(since: since)
    }

    /// What is new: `submitted 1`, with the job's place among those that are given, or what else there is to say.
    mutating func seen(_ jobs: [Int64]) async throws -> [String] {
      try await look().map { Self.text($0, jobs) }
    }

    @discardableResult
    mutating func look(since: Double? = nil) async throws -> [QueueEvent] {
      let look = try await watch.look(after: position, since: since, ahead: ahead)
      position = look.position
      last = look
      return history.events(of: look)
    }

    static func text(_ event: QueueEvent, _ jobs: [Int64]) -> String {
      let job = event.job.map { job in jobs.firstIndex(of: job.value).map(String.init) ?? "?" }
      return [event.kind.rawValue, job, event.count.map(String.init)].compactMap { $0 }.joined(separator: " ")
    }
  }

  @Test("each kind of event comes once, in the order in which it happens to the job")
  func kinds() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      var watcher = try await Watcher(queue.pool)
      #expect(try await watcher.seen([]) == [])
      let jobs = try await queue.create((0..<4).map { Ask("ann", image: "photo \($0)") })
      #expect(try await watcher.seen(jobs) == ["submitted 0", "submitted 1", "submitted 2", "submitted 3"])
      #expect(try await watcher.seen(jobs) == [])
      let claimed = try await queue.claim(3)
      #expect(claimed.map(\.job) == Array(jobs.prefix(3)))
      #expect(try await watcher.seen(jobs) == ["started 0", "started 1", "started 2"])
      let lease = claimed[0].lease
      _ = try await queue.complete([jobs[0]], leases: [lease])
      _ = try await queue.fail([jobs[1]], leases: [lease], delay: 0)
      _ = try await queue.fail([jobs[2]], leases: [lease], delay: nil)
      #expect(try await watcher.seen(jobs) == ["done 0", "retried 1", "dead 2"])
      _ = try await queue.cancel([jobs[3]])
      _ = try await queue.retryDead([jobs[2]])
      #expect(try await watcher.seen(jobs) == ["cancelled 3", "requeued 2"])
      _ = try await queue.uncancel([jobs[3]])
      try await queue.execute("SELECT analysis.pause('type', 'throat', 'too slow', NULL)")
      #expect(try await watcher.seen(jobs) == ["requeued 3", "paused"])
      try await queue.execute("SELECT analysis.resume('type', 'throat')")
      try await queue.execute("SELECT analysis.chain_audit(1000, true)")
      #expect(try await watcher.seen(jobs) == ["resumed"])
      #expect(try await watcher.seen(jobs) == [])
      let again = try await queue.claim(3, lease: 200)
      #expect(again.count == 3)
      #expect(Set(try await watcher.seen(jobs)) == ["started 1", "started 2", "started 3"])
      _ = try await queue.complete(again)
      #expect(Set(try await watcher.seen(jobs)) == ["done 1", "done 2", "done 3"])
      #expect(try await watcher.seen(jobs) == [])
    }
  }

  @Test("what began and ended between two looks is shown too, with its start by the time of the call")
  func between() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let old = try await queue.create([Ask("ann", image: "old")])
      var watcher = try await Watcher(queue.pool)
      let new = try await queue.create([Ask("ann", image: "new"), Ask("ann", image: "newer")])
      let claimed = try await queue.claim()
      _ = try await queue.complete(Array(claimed.prefix(2)))
      _ = try await queue.fail([new[1]], leases: [claimed[2].lease], delay: nil)
      let seen = try await watcher.look()
      for (index, job) in (old + new).enumerated() {
        let kinds = seen.filter { $0.job?.value == job }.map(\.kind)
        let expected: [[QueueEvent.Kind]] = [
          [.started, .done], [.submitted, .started, .done], [.submitted, .dead],
        ]
        #expect(Set(kinds) == Set(expected[index]) && kinds.last == expected[index].last)
      }
      #expect(seen.count == 7)
      #expect(seen.map(\.at) == seen.map(\.at).sorted())
      let done = try #require(seen.last { $0.kind == .done })
      #expect(done.callMilliseconds == 12 && done.attempt == 1 && done.user == "ann")
      #expect(seen.first { $0.kind == .dead }?.subject == "server")
    }
  }

  @Test(
    "a transaction that drew its numbers first and commits last is seen when it commits, and nothing twice")
  func outOfOrder() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      try await queue.addUser("bob")
      // A login's first submit writes its name, for which another's would wait.
      _ = try await queue.cancel(try await queue.create([Ask("ann", image: "0")]))
      var watcher = try await Watcher(queue.pool)
      var first: [Int64] = []
      var second: [Int64] = []
      try await queue.pool.transaction { transaction in
        first = try await queue.submit([Ask("ann", image: "1")], on: transaction).compactMap(\.job)
        second = try await queue.create([Ask("bob", image: "2")])
        #expect(first[0] < second[0])
        #expect(try await watcher.seen(first + second) == ["submitted 1"])
        let claimed = try await queue.claim()
        _ = try await queue.complete(claimed)
        #expect(try await watcher.seen(first + second).suffix(1) == ["done 1"])
        #expect(try await watcher.seen(first + second) == [])
      }
      #expect(try await watcher.seen(first + second) == ["submitted 0"])
      #expect(try await watcher.seen(first + second) == [])
      // A cancellation within a transaction that stays open, beside one that does not.
      let both = try await queue.create([Ask("ann", image: "3"), Ask("bob", image: "4")])
      #expect(try await watcher.seen(both) == ["submitted 0", "submitted 1"])
      try await queue.pool.transaction { transaction in
        _ = try await queue.cancel([both[0]], on: transaction)
        _ = try await queue.cancel([both[1]])
        try await queue.execute("SELECT analysis.chain_audit(1000, true)")
        #expect(try await watcher.seen(both) == ["cancelled 1"])
      }
      #expect(try await watcher.seen(both) == ["cancelled 0"])
      try await queue.execute("SELECT analysis.chain_audit(1000, true)")
      #expect(try await watcher.seen(both) == [])
    }
  }

  @Test("a user, a batch or a type alone is watched, in whatever shard")
  func filters() async throws {
    try await withQueue(shards: 4) { queue in
      let users = try await queue.addUsers(1, inShard: 1) + queue.addUsers(1, inShard: 2)
      var all = try await Watcher(queue.pool)
      var one = try await Watcher(queue.pool, .init(user: users[0]))
      var ears = try await Watcher(queue.pool, .init(kind: .ear))
      let jobs = try await queue.submit(1, user: users[0]) + queue.submit(2, user: users[1], kind: .ear)
      let numbers = jobs.map(\.value)
      #expect(Set(try await all.seen(numbers)) == ["submitted 0", "submitted 1", "submitted 2"])
      #expect(try await one.seen(numbers) == ["submitted 0"])
      let refused = await #expect(throws: JobQueueError.self) {
        _ = try await Watcher(queue.pool, .init(user: "nobody"))
      }
      #expect(refused?.code == .notFound)
      #expect(Set(try await ears.seen(numbers)) == ["submitted 1", "submitted 2"])
    }
  }

  @Test("of a batch its jobs are shown and how many were refused; of a user how many the limits refused")
  func refused() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann", plan: "free")
      let batch = BatchID(try await Int64(queue.number("SELECT analysis.open_batch('ward 3', NULL)")))
      var watched = try await Watcher(queue.pool, .init(batch: batch))
      var user = try await Watcher(queue.pool, .init(user: "ann"))
      try await queue.execute(
        """
        INSERT INTO analysis.batch_refusal SELECT \(batch.description.dropFirst()), sha256(i::text::bytea)
        FROM generate_series(1, 3) i
        """)
      let answers = try await queue.submit((0..<7).map { Ask("ann", image: "photo \($0)") })
      let jobs = answers.compactMap(\.job)
      #expect(jobs.count == 5)
      try await queue.execute(
        """
        INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id)
        SELECT j.shard, j.period, j.id, j.user_id, \(batch.description.dropFirst()) FROM analysis.job j WHERE j.id = \(jobs[2])
        """)
      #expect(try await watched.seen(jobs) == ["submitted 2", "refused 3"])
      #expect(try await watched.seen(jobs) == [])
      #expect(try await user.seen(jobs) == (0..<5).map { "submitted \($0)" } + ["refused 2"])
    }
  }

  @Test("the recent past is shown first, as far as the tables have it")
  func past() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let jobs = try await queue.create([Ask("ann", image: "1"), Ask("ann", image: "2")])
      let claimed = try await queue.claim(1)
      _ = try await queue.complete(claimed)
      _ = try await queue.cancel([jobs[1]])
      try await queue.execute("SELECT analysis.chain_audit(1000, true)")
      let began = try await queue.now(plus: -60)
      var history = EventHistory(since: began)
      let look = try await QueueWatch(queue.pool).look(after: nil, since: began)
      #expect(
        Set(history.events(of: look).map { Watcher.text($0, jobs) })
          == ["submitted 0", "submitted 1", "started 0", "done 0", "cancelled 1"])
      var later = EventHistory(since: try await queue.now(plus: 60))
      #expect(later.events(of: look).isEmpty)
    }
  }

  @Test("where more is claimed than a look has looked ahead, that is said")
  func outrun() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      _ = try await queue.create((0..<60).map { Ask("ann", image: "photo \($0)") })
      var watcher = try await Watcher(queue.pool, ahead: 20)
      let claimed = try await queue.claim(10)
      _ = try await queue.complete(claimed)
      #expect(try await watcher.look().filter { $0.kind == .done }.count == 10)
      #expect(watcher.last?.outrun == 0)
      let more = try await queue.claim(45, lease: 200)
      _ = try await queue.complete(more)
      // Those that it followed, and what was written so lately that the first look may have missed it.
      #expect(try await watcher.look().filter { $0.kind == .done }.count >= 20)
      #expect(watcher.last?.outrun == 1)
    }
  }

  @Test("a login that is restricted to a clinic sees its users' events only, and no counts of refusals")
  func clinics() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await queue.execute(
        """
        INSERT INTO analysis.clinic (name) VALUES ('north');
        SELECT analysis.assign_clinic(0::smallint, 'ann', 'north');
        SELECT analysis.grant_clinics('analysis_operator', '{north}')
        """)
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        var watcher = try await Watcher(login)
        let jobs = try await queue.create([Ask("ann", image: "1"), Ask("bob", image: "2")])
        let claimed = try await queue.claim(2)
        #expect(Set(try await watcher.seen(jobs)) == ["submitted 0", "started 0"])
        _ = try await queue.complete([claimed[0].job], leases: [claimed[0].lease])
        _ = try await queue.fail([claimed[1].job], leases: [claimed[1].lease], delay: nil)
        _ = try await queue.cancel([jobs[1]])
        let rows = try await watcher.seen(jobs)
        #expect(rows == (claimed[0].job == jobs[0] ? ["done 0"] : ["dead 0"]))
      }
    }
  }

  @Test("what a look follows is bounded, and what it may be asked for")
  func bounded() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      _ = try await queue.create((0..<300).map { Ask("ann", image: "photo \($0)") })
      let look = try await QueueWatch(queue.pool).look(after: nil, ahead: 50)
      #expect(look.position.jobs.count == 50)
      await #expect(throws: JobQueueError.self) {
        _ = try await QueueWatch(queue.pool).look(after: nil, ahead: 10_001)
      }
      await #expect(throws: JobQueueError.self) {
        _ = try await QueueWatch(queue.pool).look(after: look.position, limit: 10_001)
      }
    }
  }
}
