import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Whole months go, and only when nothing in them lives")
struct RetentionMonthTests {
  /// Jobs of a month 30 months ago: so many analysed, one dead, one cancelled.
  private func prepare(_ queue: QueueFixture, analysed: Int = 5) async throws {
    try await queue.addUser("user")
    let jobs = try await queue.create(
      (0..<analysed).map { Ask("user", image: "image-\($0)", key: "key-\($0)") })
    #expect(try await queue.complete(try await queue.claim()).count == jobs.count)
    _ = try await queue.deadJob("user", image: "dead")
    let cancelled = try await queue.create([Ask("user", image: "cancelled")])
    _ = try await queue.cancel(cancelled)
    _ = try await queue.applyRefunds()
    try await queue.moveBack(months: 30)
    try await queue.closeMonths()
  }

  private func partitions(_ queue: QueueFixture) async throws -> Int {
    try await queue.number(
      "SELECT count(*) FROM pg_class WHERE relnamespace = 'analysis'::regnamespace AND relkind = 'r' AND relname ~ '_p[0-9]+$'"
    )
  }

  @Test(
    "A month of which everything is past its time goes as a whole, and a dry run says the same and changes nothing"
  )
  func whole() async throws {
    try await withCheckedQueue { queue in
      try await prepare(queue)
      let before = try await queue.everything()
      let (months, tables) = (try await queue.count("partition_made"), try await partitions(queue))
      let dry = try await queue.purge(dry: true)
      #expect(try await queue.everything() == before)
      let report = try await queue.purge()
      #expect(report == dry)
      #expect(report.words == ["images 7", "dead 1", "results 6 whole"])
      #expect(try await queue.count("partition_made") == months - 1)
      #expect(try await partitions(queue) == tables - 4)
      for table in ["job", "image", "result", "attempt_error", "dead"] {
        #expect(try await queue.count(table) == 0)
      }
      #expect(try await Reconciliation.run(queue.pool).isEmpty)
      #expect(try await queue.purge().lines == [])
      // The key still answers, though the month is gone.
      #expect(try await queue.submit([Ask("user", image: "image-1", key: "key-1")])[0].outcome == "duplicate")
      let entries = try await queue.entries().map { "\($0.action) \($0.object)" }
      #expect(entries.contains { $0.hasPrefix("purge month:") } && entries.contains("purge dead"))
      #expect(entries.contains { $0.hasPrefix("purge images:") })
    }
  }

  @Test(
    "An open job keeps its month: the rest of it goes by row", arguments: ["waiting", "scheduled", "leased"])
  func living(state: String) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create((0..<5).map { Ask("user", image: "image-\($0)") })
      let done = try await queue.claim(4)
      let worker: Int64 = 1
      #expect(try await queue.complete(done).count == 4)
      if state == "scheduled" {
        let claimed = try await queue.claim(1, lease: 900)
        _ = try await queue.fail([jobs[4]], leases: [claimed[0].lease], delay: 3_600_000)
      }
      try await queue.moveBack(months: 30)
      try await queue.closeMonths()
      let held = state == "leased" ? try await queue.claim(1, lease: 900) : []
      let dry = try await queue.purge(dry: true)
      let report = try await queue.purge()
      #expect(report == dry && report.words == ["images 4", "results 4"])
      #expect(try await queue.count("job") == 1)
      #expect(try await queue.count("image") == 1)
      #expect(try await Reconciliation.run(queue.pool).isEmpty)
      switch state {
      case "leased": #expect(try await queue.complete(held, worker: worker) == [jobs[4]])
      case "scheduled":
        try await queue.execute("UPDATE analysis.scheduled SET run_at = clock_timestamp()")
        #expect(try await queue.promote() == 1)
        #expect(try await queue.complete(try await queue.claim()) == [jobs[4]])
      default: #expect(try await queue.complete(try await queue.claim()) == [jobs[4]])
      }
      // It ended just now: the month goes when that is past its time too.
      #expect(try await queue.purge().lines == [])
      let later = try await queue.moment("25 months", after: try await queue.now())
      #expect(try await queue.purge(at: later).words == ["images 1", "results 1 whole"])
    }
  }

  @Test("A month that holds attempts of a job which was moved on stays, until that job goes")
  func movedJob() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.deadJob("user")
      try await queue.moveBack(months: 30)
      #expect(try await queue.retryDead([job]) == [job: "requeued"])
      let old = try await queue.number("SELECT min(period) FROM analysis.partition_made")
      #expect(try await queue.purge().lines == [])
      #expect(try await queue.number("SELECT min(period) FROM analysis.partition_made") == old)
      #expect(try await queue.count("attempt_error") == 1)
      #expect(try await queue.complete(try await queue.claim()) == [job])
      let later = try await queue.moment("24 months", after: try await queue.now(plus: 5))
      #expect(try await queue.purge(at: later).words == ["images 1", "results 1"])
      #expect(try await queue.count("attempt_error") == 0)
      // Nothing is left of the old month now.
      let rest = try await queue.purge(at: later)
      #expect(rest.lines.count == 1 && rest.lines[0].isWholeMonth && rest.lines[0].rows == 0)
      #expect(try await queue.number("SELECT min(period) FROM analysis.partition_made") > old)
    }
  }

  @Test("A month whose tables somebody holds is left for the next run, whole")
  func busy() async throws {
    try await withCheckedQueue { queue in
      try await prepare(queue)
      let months = try await queue.count("partition_made")
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "BEGIN; SELECT 1 FROM analysis.attempt_error LIMIT 1")
        let report = try await queue.purge()
        #expect(report.busyMonths.count == 1 && report.words == ["images 7", "dead 1"])
        #expect(try await queue.count("partition_made") == months)
        #expect(try await queue.count("result") == 6)
        try await connection.execute(script: "COMMIT")
      }
      #expect(try await queue.purge().words == ["results 6 whole"])
    }
  }

  @Test("A run that is stopped goes on where it ended", arguments: [1, 2, 5, 9])
  func stopped(after calls: Int) async throws {
    try await withCheckedQueue { queue in
      try await prepare(queue)
      let dry = try await queue.purge(dry: true)
      let asked = SharedCount()
      let first = try await queue.purge { asked.add() > calls }
      #expect(!first.isComplete)
      let second = try await queue.purge()
      #expect(second.isComplete)
      func total(_ report: PurgeReport) -> Int64 { report.lines.reduce(0) { $0 + $1.rows } }
      #expect(total(first) + total(second) == total(dry))
      #expect(try await queue.count("result") == 0)
    }
  }

  @Test("Two runs at once remove everything once")
  func together() async throws {
    try await withCheckedQueue(connections: 6) { queue in
      try await prepare(queue, analysed: 20)
      let reports = try await withThrowingTaskGroup(of: PurgeReport.self) { group in
        for _ in 0..<3 { group.addTask { try await queue.purge(attempts: 100) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let images = reports.flatMap(\.lines).filter { $0.kind == .images }.reduce(0) { $0 + $1.rows }
      #expect(images == 22)
      _ = try await queue.purge()
      #expect(try await queue.count("result") == 0)
      #expect(try await queue.faults() == [])
    }
  }

  @Test("Months go while workers claim and submit, and nobody sees an error")
  func whileWorking() async throws {
    try await withCheckedQueue(connections: 10) { queue in
      try await prepare(queue)
      // Two empty months beside it, so that three go.
      try await queue.execute(
        "SELECT analysis.ensure_partitions((min(period) - 1)::smallint, (min(period) + 1)::smallint) FROM analysis.partition_made"
      )
      let months = try await queue.count("partition_made")
      let ended = SharedCount()
      let done = try await withThrowingTaskGroup(of: Int.self) { group in
        for client in 0..<6 {
          group.addTask {
            var (count, round) = (0, 0)
            while ended.value == 0 || count == 0 {
              let answers = try await queue.submit(Ask("user", image: "live-\(client)") * 3)
              #expect(answers.allSatisfy { $0.outcome == "created" })
              round += 1
              let lease = Int64(1_000_000 * (client + 1) + round * 10)
              let claimed = try await queue.claim(5, worker: Int64(client), lease: lease)
              count += try await queue.complete(claimed, worker: Int64(client)).count
            }
            return count
          }
        }
        group.addTask {
          let report = try await queue.purge(attempts: 200)
          ended.add()
          #expect(report.busyMonths == [])
          return 0
        }
        return try await group.reduce(0, +)
      }
      #expect(done > 0)
      #expect(try await queue.count("partition_made") == months - 3)
      _ = try await queue.complete(try await queue.claim(1000))
    }
  }

  @Test("A month that maintenance keeps does not go, however short the times are")
  func pastMonth() async throws {
    try await withCheckedQueue { queue in
      try await queue.execute(
        "UPDATE analysis.setting SET value = '1 hour' WHERE name LIKE 'keep_%' AND name <> 'keep_audit'")
      let before = try await queue.texts("SELECT period::text FROM analysis.partition_made ORDER BY 1")
      _ = try await queue.purge()
      #expect(try await queue.texts("SELECT period::text FROM analysis.partition_made ORDER BY 1") == before)
    }
  }
}
