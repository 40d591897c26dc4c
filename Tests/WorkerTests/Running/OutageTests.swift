import EventLoop
import Glibc
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("A database that is away or frozen")
struct OutageTests {
  @Test("One loop asks for a database that is away, the others wait for it, and all go on when it is back")
  func away() async throws {
    try await withServerCluster { cluster in
      try await withQueue(on: cluster) { queue in
        try await queue.addUser()
        try await queue.submit(40)
        let gate = Gate()
        let backend = try Backend(holding: gate)
        let worker = try Running(queue, [.throat: backend]) { $0.listens = true }
        try await eventually("calls") { backend.calls.count == 4 }
        let before = worker.count("database_connect_failures")
        try await cluster.stop(.immediate)
        // Their answers come while there is nobody to store them, so that every loop has something to ask.
        for _ in 0..<4 { gate.open() }
        try await eventually("the sixteenth attempt of one loop") {
          worker.log.lines.contains {
            $0.contains(#""task":"keeping leases""#) && $0.contains(#""attempt":16"#)
          }
        }
        // Each of the other six asks a few times, until all know that the database is away.
        let asked = worker.count("database_connect_failures") - before
        #expect(asked <= 16 + 6 * 4, "\(asked) attempts")
        let madeBefore = made(worker)
        try await cluster.start()
        for _ in 0..<100 { gate.open() }
        try await eventually("every result") { try await queue.results == 40 }
        // Control, leases, store and the one that listens.
        try await eventually("its connections") { made(worker) >= madeBefore + 4 }
        worker.stop()
        let summary = try await worker.summary()
        #expect(summary.dead == 0 && summary.retried == 0 && summary.unstored == 0)
        #expect(try await queue.number("SELECT max(attempt)::int FROM analysis.result") == 1)
        try await queue.expectSound()
      }
    }
  }

  /// How many connections it has made.
  private func made(_ worker: Running) -> Int {
    worker.count("database_connects") - worker.count("database_connect_failures")
  }

  /// The first deadline of the leases, and how far off it is, in milliseconds.
  private func deadline(_ queue: QueueFixture) async throws -> (at: Int64, left: Int) {
    let row = try await queue.pool.query(
      """
      SELECT (extract(epoch FROM min(deadline)) * 1000)::bigint,
        (extract(epoch FROM min(deadline) - clock_timestamp()) * 1000)::int FROM analysis.lease
      """
    ).single()
    return (try row.int64(0), try row.int(1))
  }

  @Test("A frozen server process costs no lease: the sign of life is given on another connection in time")
  func frozen() async throws {
    try await withServerCluster { cluster in
      try await withQueue(on: cluster) { queue in
        try await queue.addUser()
        try await queue.submit(2)
        let gate = Gate()
        let backend = try Backend(holding: gate)
        let worker = try Running(queue, [.throat: backend]) { $0.leaseDuration = .seconds(15) }
        try await eventually("calls") { backend.calls.count == 2 }
        let pid = """
          SELECT pid FROM pg_stat_activity
          WHERE application_name = '\(Running.applicationName)' AND query LIKE '%analysis.heartbeat%' AND state = 'idle'
          """
        // Remembered at once: a moment later it may be at its next heartbeat.
        var frozen: Int32 = 0
        try await eventually("a heartbeat") {
          guard let row = try await queue.pool.query(pid).first else { return false }
          frozen = try row.int32(0)
          return true
        }
        let madeBefore = made(worker)
        // Not in the middle of a statement: with the leases' locks in its hands nobody could give a sign of life.
        try await eventually("a moment between two heartbeats") {
          try cluster.signal(frozen, SIGSTOP)
          if try await !queue.pool.query("SELECT FROM (\(pid)) p WHERE pid = \(frozen)").isEmpty {
            return true
          }
          try cluster.signal(frozen, SIGCONT)
          return false
        }
        defer { try? cluster.signal(frozen, SIGCONT) }
        // While nobody answers nothing is given; then it comes on a connection that is made anew, before the
        // leases are over.
        let before = try await deadline(queue)
        var left = before.left
        try await eventually("the next sign of life") {
          let now = try await deadline(queue)
          guard now.at > before.at else {
            left = now.left
            return false
          }
          return true
        }
        #expect(left > 0)
        #expect(made(worker) > madeBefore)
        for _ in 0..<2 { gate.open() }
        try await eventually("both results") { try await queue.results == 2 }
        worker.stop()
        #expect(try await worker.summary().completed == 2)
        #expect(worker.count("leases_lost") == 0)
        try cluster.signal(frozen, SIGCONT)
      }
    }
  }

  @Test("What rested while the server froze is not waited for, once the heartbeats have found out")
  func frozenAtRest() async throws {
    try await withServerCluster { cluster in
      try await withQueue(on: cluster) { queue in
        try await queue.addUser()
        try await queue.submit(1)
        let backend = try Backend()
        let worker = try Running(queue, [.throat: backend]) {
          $0.leaseDuration = .seconds(3)
          $0.statementDeadline = patience * 2
        }
        try await eventually("a result") { try await queue.results == 1 }
        for function in ["complete", "heartbeat"] {
          let idle = """
            SELECT pid FROM pg_stat_activity
            WHERE application_name = '\(Running.applicationName)' AND query LIKE '%analysis.\(function)%'
              AND state = 'idle'
            """
          try await eventually("a moment in which \(function) rests") {
            guard let row = try await queue.pool.query(idle).first else { return false }
            let pid = try row.int32(0)
            try cluster.signal(pid, SIGSTOP)
            let isIdle = "SELECT FROM (\(idle)) p WHERE pid = \(pid)"
            if try await !queue.pool.query(isIdle).isEmpty { return true }
            try cluster.signal(pid, SIGCONT)
            return false
          }
        }
        let before = made(worker)
        try await eventually("another connection for the heartbeats") { made(worker) > before }
        try await queue.submit(1)
        try await eventually("the second result") { try await queue.results == 2 }
        worker.stop()
        #expect(try await worker.summary().completed == 2)
      }
    }
  }
}
