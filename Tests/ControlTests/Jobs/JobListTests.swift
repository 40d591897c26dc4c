import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("Lists of jobs")
struct JobListTests {
  /// What is asked for; nil does not matter.
  private struct Filter: Sendable {
    var user: String?
    var state: String?
    var kind: Int16?
    var month: Int16?
  }

  /// A job as a list shows it.
  private struct Line: Sendable, Hashable {
    var job: Int64
    var month: Int16
    var user: String
    var kind: Int16
    var state: String

    func isMeant(by filter: Filter) -> Bool {
      (filter.user ?? user) == user && (filter.state ?? state) == state && (filter.kind ?? kind) == kind
        && (filter.month ?? month) == month
    }
  }

  private static let states = ["waiting", "scheduled", "running", "succeeded", "dead", "cancelled"]

  /// A page and, if the search stopped early, how far it came.
  private func page(
    _ queue: QueueFixture, _ filter: Filter, after: Line? = nil, limit: Int32, looks: Int32 = 2500,
    on queryable: (any Queryable)? = nil
  ) async throws -> (lines: [Line], end: (month: Int16, job: Int64)?) {
    let rows = try await (queryable ?? queue.pool).query(
      """
      SELECT o_job, o_period, o_user, o_kind, o_state
      FROM analysis.list_jobs(0::smallint, $1, $2, $3, $4, $5, $6, $7, $8)
      """,
      [
        .text(filter.user), .text(filter.state), .int16(filter.kind), .int16(filter.month),
        .int16(after?.month), .int64(after?.job), .int32(limit), .int32(looks),
      ])
    var lines: [Line] = []
    var end: (Int16, Int64)?
    for row in rows {
      guard let state = try row.stringIfPresent(4) else {
        end = (try row.int16(1), try row.int64(0))
        continue
      }
      lines.append(
        Line(
          job: try row.int64(0), month: try row.int16(1), user: try row.string(2), kind: try row.int16(3),
          state: state))
    }
    return (lines, end)
  }

  /// Page after page up to the end; between two of them something may happen.
  private func all(
    _ queue: QueueFixture, _ filter: Filter, limit: Int32, looks: Int32 = 2500,
    between: () async throws -> Void = {}
  ) async throws -> [Line] {
    var found: [Line] = []
    var after: Line?
    while true {
      let (lines, end) = try await page(queue, filter, after: after, limit: limit, looks: looks)
      found += lines
      if let end {
        after = Line(job: end.job, month: end.month, user: "", kind: 0, state: "")
      } else if lines.count == Int(limit), let last = lines.last {
        after = last
      } else {
        return found
      }
      try await between()
    }
  }

  /// Every job with its state, found by looking for each in every table, in the order of a list.
  private func judge(_ queue: QueueFixture) async throws -> [Line] {
    try await queue.pool.query(
      """
      SELECT j.id, j.period, a.user_ref, j.kind, (
        SELECT min(p.state) FROM (
          SELECT CASE r.outcome WHEN 1 THEN 'succeeded' ELSE 'cancelled' END AS state FROM analysis.result r WHERE r.job_id = j.id
          UNION ALL SELECT 'dead' FROM analysis.dead d WHERE d.job_id = j.id
          UNION ALL SELECT 'running' FROM analysis.lease b WHERE j.id = ANY (b.job_ids) AND NOT j.closed
          UNION ALL SELECT 'scheduled' FROM analysis.scheduled s WHERE s.job_id = j.id AND NOT j.closed
          UNION ALL SELECT 'waiting' FROM analysis.ready r WHERE r.job_id = j.id AND NOT j.closed) p)
      FROM analysis.job j JOIN analysis.account a ON a.user_id = j.user_id
      ORDER BY j.period DESC, j.id DESC
      """
    ).map {
      Line(
        job: try $0.int64(0), month: try $0.int16(1), user: try $0.string(2), kind: try $0.int16(3),
        state: try $0.string(4))
    }
  }

  /// Something of what happens in a queue.
  private func step(_ queue: QueueFixture, _ number: Int, using random: inout SeededGenerator) async throws {
    let lanes: [Int16] = [4, 5, 6, 8, 9, 10]
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1, 2:
      var asks: [Ask] = []
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let times: [Double?] = [nil, nil, nil, 3600, 40 * 86_400]
        let later = times.randomElement(using: &random) ?? nil
        asks.append(
          Ask(
            ["a", "b", "c"].randomElement(using: &random) ?? "a", kind: .random(in: 1...2, using: &random),
            priority: .random(in: 0...2, using: &random),
            at: later == nil ? nil : try await queue.now(plus: later ?? 0)))
      }
      _ = try await queue.submit(asks)
    case 3, 4:
      _ = try await queue.claim(
        .random(in: 1...6, using: &random), lease: Int64(number) * 1000, lanes: lanes)
    case 5:
      let leases = try await queue.pool.query("SELECT id, job_ids::text FROM analysis.lease ORDER BY id")
      guard let row = leases.randomElement(using: &random) else { return }
      let jobs = try row.string(1).dropFirst().dropLast().split(separator: ",").compactMap { Int64($0) }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: _ = try await queue.complete(jobs, leases: [try row.int64(0)])
      case 1: _ = try await queue.fail(jobs, leases: [try row.int64(0)], delay: nil)
      default: _ = try await queue.fail(jobs, leases: [try row.int64(0)], delay: 3_600_000)
      }
    case 6:
      let jobs = try await queue.pool.query("SELECT id FROM analysis.job ORDER BY id").map { try $0.int64(0) }
      _ = try await queue.cancel(Array(jobs.shuffled(using: &random).prefix(2)))
    default:
      let dead = try await queue.pool.query("SELECT job_id FROM analysis.dead ORDER BY 1").map {
        try $0.int64(0)
      }
      _ = try await queue.retryDead(Array(dead.shuffled(using: &random).prefix(1)))
    }
  }

  @Test(
    "Every filter lists the jobs that a look at each of them finds, on pages of any size", arguments: 1...3)
  func filters(seed: UInt64) async throws {
    try await withCheckedQueue { queue in
      for user in ["a", "b", "c", "none"] { try await queue.addUser(user) }
      var random = SeededGenerator(seed: seed)
      for number in 1...120 { try await step(queue, number, using: &random) }
      // Some are dead, whatever was drawn.
      _ = try await queue.submit([Ask("a"), Ask("b")])
      let claimed = try await queue.claim(2, lease: 900_000)
      _ = try await queue.fail(claimed.map(\.job), leases: Array(Set(claimed.map(\.lease))), delay: nil)
      let jobs = try await judge(queue)
      #expect(Set(jobs.map(\.state)) == Set(Self.states), "what is not there is not tested")
      #expect(Set(jobs.map(\.month)).count > 1)
      for user in [nil, "a", "none", "nobody"] {
        for state in [nil] + Self.states.map(Optional.some) {
          for kind in [nil, 1, 2] as [Int16?] {
            for month in [nil, jobs.last?.month, 24_000] {
              let filter = Filter(user: user, state: state, kind: kind, month: month)
              let meant = jobs.filter { $0.isMeant(by: filter) }
              #expect(try await all(queue, filter, limit: 7) == meant, "\(filter)")
              // As where there are so many others that each page ends early.
              #expect(try await all(queue, filter, limit: 7, looks: 5) == meant, "\(filter)")
            }
          }
        }
      }
    }
  }

  @Test(
    "A job that is meant all the time is on one page and one only, whatever happens between pages",
    arguments: 1...3)
  func changing(seed: UInt64) async throws {
    try await withCheckedQueue { queue in
      for user in ["a", "b", "c"] { try await queue.addUser(user) }
      var random = SeededGenerator(seed: seed)
      for number in 1...80 { try await step(queue, number, using: &random) }
      var number = 80
      for filter in [Filter(), Filter(user: "a")] + Self.states.map({ Filter(state: $0) }) {
        let before = try await judge(queue)
        var steady = Set(before.filter { $0.isMeant(by: filter) }.map(\.job))
        let listed = try await all(queue, filter, limit: 3) {
          number += 1
          try await step(queue, number, using: &random)
          steady.formIntersection(try await judge(queue).filter { $0.isMeant(by: filter) }.map(\.job))
        }
        #expect(Set(listed.map(\.job)).count == listed.count, "\(filter)")
        #expect(steady.subtracting(listed.map(\.job)) == [], "\(filter)")
      }
    }
  }

  /// A month of so many analysed jobs of 200 users, with a few others; all of the throat. One user has nothing.
  private func fill(_ queue: QueueFixture, _ count: Int) async throws {
    for user in 1...200 { try await queue.addUser("user-\(user)") }
    try await queue.addUser("idle")
    try await queue.execute(
      """
      INSERT INTO analysis.usage (shard, user_id, period, used)
      SELECT 0, a.user_id, analysis.period_of(now(), 'UTC'), \(count) / 200 FROM analysis.account a WHERE a.user_ref <> 'idle';
      INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
        max_attempts, image_unsanitized, image_mark)
      SELECT 0, u.period, 1, 5, g, (SELECT a.user_id FROM analysis.account a WHERE a.user_ref = 'user-' || g % 200 + 1), 1, g,
        now(), 1, u.period, 3, false, ''
      FROM generate_series(1, \(count)) g, (SELECT analysis.period_of(now(), 'UTC') AS period) u;
      INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls, condition_count,
        analysis_id, conditions)
      SELECT 0, j.period, 1, 1, j.id, j.user_id, now(), 1, 1, 0, 'x', '[]' FROM analysis.job j;
      """)
  }

  /// What the functions have read of tables in this transaction.
  private func reads(on connection: some Queryable) async throws -> Int {
    try await connection.query(
      """
      SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables
      WHERE schemaname = 'analysis'
      """
    ).single().int(0)
  }

  @Test("However large the month, a page reads 10,000 rows at most, also where nothing matches")
  func bounded() async throws {
    try await withCheckedQueue { queue in
      try await fill(queue, 20_000)
      let month = Int16(try await queue.number("SELECT analysis.period_of(now(), 'UTC')::int"))
      try await queue.pool.withConnection { connection in
        var filters = Self.states.map { Filter(state: $0) }
        filters += [
          Filter(), Filter(kind: 1), Filter(kind: 2), Filter(month: 24_000), Filter(user: "user-7"),
          Filter(user: "idle"), Filter(user: "nobody"),
        ]
        filters += Self.states.map { Filter(user: "user-7", state: $0) }
        filters += Self.states.map { Filter(state: $0, kind: 2) }
        for filter in filters {
          for after in [nil, Line(job: 15_000, month: month, user: "", kind: 0, state: "")] {
            try await connection.execute(script: "BEGIN")
            let before = try await reads(on: connection)
            let (lines, end) = try await page(queue, filter, after: after, limit: 50, on: connection)
            let read = try await reads(on: connection) - before
            #expect(read <= 10_000, "\(filter)")
            // What is asked for is found together: nothing beside it is read.
            let isSearch = filter.kind == 2 && (filter.state ?? "succeeded") == "succeeded"
            if !isSearch { #expect(read <= 1000 && end == nil, "\(filter)") }
            #expect((end != nil) == isSearch, "\(filter)")
            let isAll =
              (filter.state ?? "succeeded") == "succeeded" && filter.kind != 2 && filter.month == nil
            if isAll, filter.user == nil || filter.user == "user-7" { #expect(lines.count == 50) }
            try await connection.execute(script: "ROLLBACK")
          }
        }
      }
      try await queue.execute("TRUNCATE analysis.job, analysis.result, analysis.usage")
    }
  }

  @Test("A long queue is not read whole to list what waits in it")
  func longQueue() async throws {
    try await withCheckedQueue { queue in
      try await fill(queue, 20_000)
      try await queue.execute(
        """
        DELETE FROM analysis.result WHERE job_id <= 12000;
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
        SELECT 0, 5, 0, j.period, j.vt, j.id FROM analysis.job j WHERE j.id <= 12000
        """)
      try await queue.pool.withConnection { connection in
        var found: [Line] = []
        var after: Line?
        for _ in 0..<20 where found.count < 50 {
          try await connection.execute(script: "BEGIN")
          let before = try await reads(on: connection)
          let (lines, end) = try await page(
            queue, Filter(state: "waiting"), after: after, limit: 50, on: connection)
          #expect(try await reads(on: connection) - before <= 10_000)
          found += lines
          after = end.map { Line(job: $0.job, month: $0.month, user: "", kind: 0, state: "") }
          try await connection.execute(script: "ROLLBACK")
        }
        #expect(found.first?.job == 12_000 && found.count == 50)
      }
      try await queue.execute("TRUNCATE analysis.job, analysis.result, analysis.ready, analysis.usage")
    }
  }

  /// How many jobs there are in each state, with a plus sign where there may be more.
  private func counts(_ login: some Queryable) async throws -> [String: String] {
    let rows = try await login.query("SELECT o_state, o_count, o_is_all FROM analysis.jobs_by_state()")
    return try Dictionary(
      uniqueKeysWithValues: rows.map { row in
        (try row.string(0), "\(try row.int(1))\(try row.bool(2) ? "" : "+")")
      })
  }

  @Test(
    "Counts of each state are of the jobs that a login sees, and of many that have ended 10,000 are counted")
  func counted() async throws {
    try await withQueue { queue in
      for user in ["ann", "ben"] { try await queue.addUser(user) }
      try await queue.execute(
        "SELECT analysis.add_clinic('north'); SELECT analysis.assign_clinic(0::smallint, 'ann', 'north')")
      for user in ["ann", "ben"] { _ = try await queue.deadJob(user) }
      _ = try await queue.create([Ask("ann", image: "1"), Ask("ben", image: "1")])
      #expect(try await queue.complete(try await queue.claim(2)).count == 2)
      _ = try await queue.create([Ask("ann", image: "2"), Ask("ben", image: "2")])
      #expect(try await queue.claim(2).count == 2)
      let later = try await queue.now(plus: 3600)
      let asks = [Ask("ann", image: "3"), Ask("ben", image: "3"), Ask("ann", image: "4")]
      let open = try await queue.create(
        asks + [Ask("ann", image: "5"), Ask("ann", image: "6", at: later), Ask("ben", image: "6", at: later)])
      _ = try await queue.cancel([open[0], open[1]])

      try await withLogin(of: ["clinician"], in: queue) { (login) async throws in
        let all = [
          "waiting": "2", "scheduled": "2", "running": "2", "succeeded": "2", "dead": "2", "cancelled": "2",
        ]
        #expect(try await counts(login) == all)
        try await queue.execute("SELECT analysis.grant_clinics('analysis_clinician', '{north}')")
        let own = [
          "waiting": "2", "scheduled": "1", "running": "1", "succeeded": "1", "dead": "1", "cancelled": "1",
        ]
        #expect(try await counts(login) == own)

        for (outcome, succeeded, cancelled) in [(2, "2+", "10000+"), (1, "10000+", "2")] {
          try await queue.execute(
            """
            DELETE FROM analysis.result WHERE job_id > 1000000;
            INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls,
              condition_count, analysis_id, conditions)
            SELECT d.shard, d.period, 1, \(outcome), 1000000 + g, d.user_id, now(), 1, 1, CASE \(outcome) WHEN 1 THEN 0 END,
              CASE \(outcome) WHEN 1 THEN 'x' END, CASE \(outcome) WHEN 1 THEN '[]'::jsonb END
            FROM generate_series(1, 10001) g
            JOIN analysis.dead d ON d.user_id = (SELECT user_id FROM analysis.account WHERE user_ref = 'ben')
            """)
          let many = try await counts(queue.pool)
          #expect(many["succeeded"] == succeeded && many["cancelled"] == cancelled, "\(many)")
          #expect(try await counts(login)["succeeded"] == "1", "the others' are not among them")
        }
      }
    }
  }

  @Test("Looking for lost jobs reads each row a few times, also without statistics")
  func lostJobs() async throws {
    try await withCheckedQueue { queue in
      try await fill(queue, 20_000)
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "BEGIN")
        let before = try await reads(on: connection)
        let lost = try await connection.query(
          "SELECT o_job FROM analysis.lost_jobs(0::smallint, analysis.period_of(now(), 'UTC'), 10)")
        #expect(lost.count == 0)
        #expect(try await reads(on: connection) - before <= 60_000)
        try await connection.execute(script: "ROLLBACK")
      }
      try await queue.execute("TRUNCATE analysis.job, analysis.result, analysis.usage")
    }
  }
}
