import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

/// A claim's commit waits for no disk, so a server that crashes may lose it.
@Suite("The server crashes before it has written a claim")
struct LostClaimTests {
  /// A cluster that writes by itself only every ten seconds, with a queue in it whose connections are taken for old
  /// ones, whose claims do not wait.
  private func with(_ body: (ServerCluster, QueueFixture) async throws -> Void) async throws {
    try await withServerCluster(Self.options) { cluster in
      try await withQueue(on: cluster) { queue in
        try await queue.addUser("clinic")
        try await queue.execute("ALTER DATABASE postgres SET analysis.first_claim = '0'")
        try await body(cluster, queue)
      }
    }
  }

  private static var options: ServerCluster.Options {
    var options = ServerCluster.Options()
    options.settings = ["wal_writer_delay": "10s", "autovacuum": "off"]
    return options
  }

  /// Claims on a connection of its own and has the server crash.
  private func claimed(
    _ count: Int32, _ cluster: ServerCluster, _ queue: QueueFixture, _ setting: String? = nil,
    thenOn further: (Connection, [Claimed]) async throws -> Void = { _, _ in }
  ) async throws -> [Claimed] {
    let connection = try await Connection.connect(
      ConnectionConfiguration(cluster.conninfo()), on: queue.loop)
    if let setting { try await connection.execute(script: setting) }
    let claimed = try await queue.claim(count, on: connection)
    try await further(connection, claimed)
    try await cluster.kill(grace: .zero)
    await connection.close()
    try await cluster.start()
    return claimed
  }

  @Test("its jobs are called for again, and what the first worker brings of them is stored nowhere")
  func lost() async throws {
    try await with { cluster, queue in
      try await queue.submit(3)
      let lost = try await claimed(3, cluster, queue)
      #expect(lost.count == 3)
      // Nothing is left of the claim, and all is there that was before it.
      #expect(try await queue.count("lease") == 0)
      #expect(try await queue.count("ready") == 3)

      let again = try await queue.claim(worker: 2, lease: 200)
      #expect(again.map(\.job) == lost.map(\.job))
      // The first worker has them still: it can neither hold, complete, fail nor release what is another's now.
      let jobs = lost.map { String($0.job) }.joined(separator: ",")
      let leases = lost.map { String($0.lease) }.joined(separator: ",")
      let tries = [
        "SELECT count(*)::int FROM analysis.heartbeat(0::smallint, sha256('1'), '{\(leases)}', 60000, 'host', 1, 'x', 0)",
        """
        SELECT count(*) FILTER (WHERE o_outcome <> 'stale')::int FROM analysis.fail(0::smallint, sha256('1'),
          '{\(leases)}', '{\(jobs)}', '{NULL,NULL,NULL}', '{true,true,true}', '{server,server,server}', NULL,
          '{no,no,no}', NULL, NULL, '{1,1,1}', '{false,false,false}', NULL)
        """,
        "SELECT cardinality(o_back) FROM analysis.release(0::smallint, sha256('1'), '{\(leases)}', '{\(jobs)}', 0)",
        "SELECT analysis.disclaim(0::smallint, sha256('1'), 100, 4)",
      ]
      for statement in tries { #expect(try await queue.number(statement) == 0, "\(statement)") }
      #expect(try await queue.complete(lost).isEmpty)
      #expect(try await queue.results == 0)

      #expect(try await queue.complete(again, worker: 2).count == 3)
      #expect(try await queue.numbers("SELECT DISTINCT attempt::int FROM analysis.result") == [1])
      #expect(try await queue.units == 3)
      try await queue.expectSound()
    }
  }

  @Test("its own worker may claim them: what that brings for the lost lease is not stored for the new one")
  func ownAgain() async throws {
    try await with { cluster, queue in
      try await queue.submit(2)
      let lost = try await claimed(2, cluster, queue)
      let again = try await queue.claim(lease: 101)
      #expect(again.map(\.job) == lost.map(\.job))
      #expect(try await queue.complete(lost).isEmpty)
      // Both at once: each job once, by the lease that there is.
      #expect(try await queue.complete(lost + again) == Set(again.map(\.job)))
      #expect(try await queue.results == 2)
      try await queue.expectSound()
    }
  }

  @Test("but for one of a connection's first seconds or of a quarantined job: those it has written")
  func durable() async throws {
    try await with { cluster, queue in
      try await queue.submit(1)
      let first = try await claimed(1, cluster, queue, "SET analysis.first_claim = ''")
      #expect(try await queue.numbers("SELECT id::int FROM analysis.lease") == first.map { Int($0.lease) })

      let quarantine = Lane.quarantine(of: .throat).code
      try await queue.submit(1)
      try await queue.execute("UPDATE analysis.ready SET lane = \(quarantine)")
      let alone = try await claimed(1, cluster, queue)
      #expect(alone.map(\.lane) == [quarantine])
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.lease WHERE lane = \(quarantine)") == 1)
    }
  }

  @Test("what ends a job is written with its claim: no outcome is there without it")
  func ended() async throws {
    try await with { cluster, queue in
      try await queue.submit(3)
      let jobs = try await claimed(3, cluster, queue) { connection, jobs in
        let stored = try await queue.complete([jobs[0].job], leases: [jobs[0].lease], on: connection)
        #expect(stored == [jobs[0].job])
      }
      #expect(try await queue.results == 1)
      #expect(try await queue.numbers("SELECT cardinality(job_ids) FROM analysis.lease") == [2])
      #expect(try await queue.complete(Array(jobs.dropFirst())).count == 2)
      try await queue.expectSound()
    }
  }

  @Test("workers go on: each job has one result, and a crash costs a call more of what a worker held at most")
  func workers() async throws {
    try await FaultyCluster.with(jobs: 300, endpoint: ["--delay", "50ms"], Self.options) { faulty in
      try await faulty.queue.execute("ALTER DATABASE postgres SET analysis.first_claim = '0'")
      let crashes = 3
      let worker = try faulty.installation.worker()
      for crash in 1...crashes {
        try await faulty.eventuallyThere { try await faulty.queue.results >= 40 * crash }
        try await faulty.cluster.kill(grace: .zero)
        try await faulty.cluster.start()
      }
      try await faulty.eachHasResult()
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed(crashes: crashes)
      let further = try faulty.installation.calls.values.map { $0 - 1 }
      #expect(further.reduce(0, +) <= crashes * 2 * Installation.concurrency)
    }
  }
}
