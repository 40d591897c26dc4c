import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Short leases, careless workers")
struct LeaseStressTests {
  /// What a worker does with a lease.
  enum Manner: CaseIterable, Sendable {
    case abandons, isLate, completes, alsoCompletes, completesToo
  }

  @Test(
    "20,000 jobs, 2 workers and a rescuer on leases of 30 ms, a fifth abandoned and a fifth late: 20,000 results"
  )
  func stress() async throws {
    let total = 20_000
    try await withCheckedQueue(connections: 4) { queue in
      try await queue.addUser("user")
      for _ in 0..<(total / 1000) { _ = try await queue.create(Ask("user") * 1000, maxAttempts: 100) }

      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in [1, 2] as [Int64] {
          group.addTask { try await work(queue, worker: worker, until: total) }
        }
        group.addTask {
          while try await ended(queue) < total {
            _ = try await queue.rescue()
            // A delay after a loss alone is of seconds; here nobody waits for it.
            try await queue.execute(
              "UPDATE analysis.scheduled SET run_at = clock_timestamp() - interval '1 second'")
            _ = try await queue.promote()
          }
        }
        try await group.waitForAll()
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.result") == total)
      #expect(try await queue.number("SELECT count(DISTINCT job_id) FROM analysis.result") == total)
      #expect(try await queue.number("SELECT count(*) FROM analysis.dead") == 0)
      #expect(
        try await queue.number("SELECT count(*) FROM analysis.attempt_error WHERE class = 'worker_lost'") > 0)
    }
  }

  /// The quarantine lane several times: each gives a lease of one job, so that the tail is not claimed singly.
  private static let lanes: [Int16] = Array(repeating: 7, count: 10) + [4, 5, 6]

  /// How many jobs have a result or are dead, which none should be.
  private func ended(_ queue: QueueFixture) async throws -> Int {
    try await queue.number(
      "SELECT (SELECT count(*) FROM analysis.result) + (SELECT count(*) FROM analysis.dead)")
  }

  /// Works until all jobs have ended; which manner a lease gets goes round, so a fifth each.
  private func work(_ queue: QueueFixture, worker: Int64, until total: Int) async throws {
    var late: [Claimed] = []
    var round: Int64 = 0
    while true {
      round += 1
      let claimed = try await queue.claim(
        100, worker: worker, lease: worker * 1_000_000_000 + round * 16, lanes: Self.lanes, leaseDuration: 30)
      if claimed.isEmpty, try await ended(queue) == total { return }
      guard !claimed.isEmpty else { continue }
      switch Manner.allCases[Int(round) % Manner.allCases.count] {
      case .abandons: break
      case .isLate:
        // Completed when the next late lease comes, long after the lease is over and mostly rescued.
        try await complete(late, worker: worker, in: queue)
        late = claimed
      case .completes, .alsoCompletes, .completesToo:
        try await complete(claimed, worker: worker, in: queue)
      }
    }
  }

  /// Completes jobs; again where the rescuer held their leases for so long that the call gave up, as a worker does.
  private func complete(_ jobs: [Claimed], worker: Int64, in queue: QueueFixture) async throws {
    while true {
      do {
        _ = try await queue.complete(jobs, worker: worker)
        return
      } catch let error as PostgreSQLError where error.sqlState == "55P03" {
        continue
      }
    }
  }
}
