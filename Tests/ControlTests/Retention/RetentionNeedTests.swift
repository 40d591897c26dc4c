import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("What is needed is kept")
struct RetentionNeedTests {
  private static let years = "10 years"

  @Test("A picture that two jobs show goes with the last of them")
  func shared() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      #expect(try await queue.count("image") == 1)
      _ = try await queue.complete(try await queue.claim())
      let ended = try await queue.wholeSecond()
      try await queue.setEnds(ended)
      try await queue.execute(
        "UPDATE analysis.result SET finished_at = finished_at + interval '5 days' WHERE job_id = \(jobs[1])")
      #expect(try await queue.purge(at: try await queue.moment("34 days", after: ended)).lines == [])
      #expect(try await queue.purge(at: try await queue.moment("35 days", after: ended) - 1).lines == [])
      #expect(
        try await queue.purge(at: try await queue.moment("35 days", after: ended)).words == ["images 1"])
    }
  }

  @Test(
    "Images of the running month go too when they are kept for less, with the index that their jobs are found by and without",
    arguments: [false, true])
  func running(isIndexed: Bool) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.execute("UPDATE analysis.setting SET value = '1 hour' WHERE name = 'keep_images'")
      if isIndexed {
        try await queue.execute(
          "SELECT analysis.index_images(p, '2099-01-01Z') FROM analysis.period_of(now(), 'UTC') p")
      }
      _ = try await queue.create([Ask("user", image: "shared"), Ask("user", image: "alone")])
      #expect(try await queue.complete(try await queue.claim()).count == 2)
      let open = try await queue.create([Ask("user", image: "shared")])
      try await queue.setEnds(try await queue.now(plus: -7200))
      #expect(try await queue.purge().words == ["images 1"])
      #expect(try await queue.complete(try await queue.claim()) == Set(open))
      #expect(try await queue.purge().words == [])
    }
  }

  @Test("Months made while images are kept for less than a month have the index from their beginning")
  func indexed() async throws {
    try await withCheckedQueue { queue in
      let indexes = "SELECT count(*) FROM pg_class WHERE relkind = 'i' AND relname ~ '^job_p[0-9]+_image$'"
      #expect(try await queue.number(indexes) == 0)
      try await queue.execute("UPDATE analysis.setting SET value = '7 days' WHERE name = 'keep_images'")
      try await queue.execute(
        "SELECT analysis.ensure_partitions((p + 23)::smallint, (p + 24)::smallint) FROM analysis.period_of(now(), 'UTC') p"
      )
      #expect(try await queue.number(indexes) == 2)
    }
  }

  @Test("A picture of an older month that a job of this month shows stays for it")
  func otherMonth() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")])
      _ = try await queue.complete(try await queue.claim())
      try await queue.moveBack(months: 3)
      let job = try await queue.create([Ask("user", withBytes: false)])[0]
      #expect(try await queue.number("SELECT period - image_period FROM analysis.job WHERE id = \(job)") == 3)
      #expect(try await queue.purge().lines == [])
      #expect(try await queue.complete(try await queue.claim()) == [job])
      #expect(try await queue.purge().lines == [])
      let later = try await queue.moment("31 days", after: try await queue.now())
      #expect(try await queue.purge(at: later).words == ["images 1"])
    }
  }

  @Test("Waiting, running, scheduled and retried jobs keep all that they need, however old")
  func open() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let soon = try await queue.now(plus: 3600)
      _ = try await queue.create([Ask("user", image: "running")])
      let running = try await queue.claim(1)
      _ = try await queue.create([
        Ask("user", image: "waiting"), Ask("user", image: "scheduled", at: soon),
      ])
      let again = try await queue.create([Ask("user", priority: 0, image: "again")])
      _ = try await queue.fail(again, leases: [try await queue.claim(1, lease: 300)[0].lease], delay: 60_000)
      func facts() async throws -> [String] {
        try await queue.everything().filter {
          $0.hasPrefix("image") || $0.hasPrefix("job") || $0.hasPrefix("attempt")
        }
      }
      let before = try await facts()
      let later = try await queue.moment(Self.years, after: try await queue.now())
      #expect(try await queue.purge(at: later, dry: true).words == [])
      #expect(try await queue.purge(at: later).words == [])
      #expect(try await facts() == before && before.count == 9)
      #expect(try await queue.complete(running) == [running[0].job])
    }
  }

  @Test("A dead job can be retried while its image is kept, and is refused clearly afterwards")
  func retry() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let (early, late) = (
        try await queue.deadJob("user", image: "early"), try await queue.deadJob("user", image: "late")
      )
      let ended = try await queue.wholeSecond()
      try await queue.setEnds(ended)
      #expect(try await queue.purge(at: try await queue.moment("29 days", after: ended)).lines == [])
      #expect(try await queue.retryDead([early]) == [early: "requeued"])
      let later = try await queue.moment("31 days", after: ended)
      #expect(try await queue.purge(at: later).words == ["images 1"])
      let outcomes = try await queue.retryDead([late, early])
      #expect(outcomes == [late: "image_gone", early: "not_dead"])
      #expect(try await queue.states() == [early: "waiting", late: "dead"])
      #expect(try await queue.complete(try await queue.claim()) == [early])
    }
  }

  @Test("A submit that names an image has it or is refused, while a purge removes it", arguments: 1...6)
  func named(round: Int) async throws {
    try await withCheckedQueue(connections: 6) { queue in
      try await queue.addUser("user")
      let images = (0..<12).map { "image-\($0)" }
      for image in images { _ = try await queue.create([Ask("user", image: image)]) }
      _ = try await queue.complete(try await queue.claim())
      let ended = try await queue.wholeSecond() - 86_400
      try await queue.setEnds(ended)
      let due = try await queue.moment("30 days", after: ended)
      async let purging = queue.purge(at: due)
      let created = try await withThrowingTaskGroup(of: [Int64].self) { group in
        for client in 0..<3 {
          group.addTask {
            var created: [Int64] = []
            for (place, image) in images.enumerated() where place % 3 == client || round % 2 == 0 {
              let answer = try await queue.submit([Ask("user", image: image, withBytes: false)])[0]
              #expect(answer.outcome == "created" || answer.reason == "image_missing")
              if let job = answer.job { created.append(job) }
            }
            return created
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      _ = try await purging
      // Every job that was taken has its image: the invariants at the end look too.
      let blind = try await queue.number(
        """
        SELECT count(*) FROM analysis.job j WHERE j.id = ANY ($1) AND NOT EXISTS (
          SELECT 1 FROM analysis.image i WHERE i.shard = j.shard AND i.period = j.image_period AND i.id = j.image_id)
        """, [.array(created)])
      #expect(blind == 0)
    }
  }

  @Test(
    "Of a month that is not closed nothing is removed that bills stand on, and it is named when it could be")
  func notStated() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")])
      _ = try await queue.complete(try await queue.claim())
      _ = try await queue.deadJob("user", image: "other")
      try await queue.execute(
        "UPDATE analysis.setting SET value = '1 day' WHERE name IN ('keep_results', 'keep_dead')")
      try await queue.setEnds(try await queue.now(plus: -2 * 86_400))
      #expect(try await queue.purge().words.filter { !$0.hasPrefix("images") } == [])
      #expect(try await queue.purge(closing: false).unclosedMonths == [])
      #expect(try await queue.count("statement") == 0)
      let later = try await queue.moment("3 months", after: try await queue.now())
      let month = try await queue.number("SELECT max(period) FROM analysis.usage")
      for isDry in [true, false] {
        let report = try await queue.purge(at: later, dry: isDry, closing: false)
        #expect(report.words.filter { !$0.hasPrefix("images") } == [])
        #expect(report.unclosedMonths.first.map { Int($0.label) } == month)
      }
      #expect(try await queue.count("statement") == 0)
      try await queue.closeMonths(at: later)
      let dry = try await queue.purge(at: later, dry: true)
      #expect(dry.words.contains("dead 1") && dry.unclosedMonths == [])
      #expect(try await queue.purge(at: later).words.contains("dead 1"))
      let line = try await queue.texts(
        "SELECT concat_ws(' ', used, analysed, failed) FROM analysis.statement_line WHERE used > 0")
      #expect(line == ["1 1 1"])
    }
  }

  @Test("A month in which nothing was used, and nothing before it, goes without having been closed")
  func unused() async throws {
    try await withCheckedQueue { queue in
      try await queue.execute(
        "SELECT analysis.ensure_partitions((p - 30)::smallint, (p - 30)::smallint) FROM analysis.period_of(now(), 'UTC') p"
      )
      let months = try await queue.count("partition_made")
      let report = try await queue.purge(closing: false)
      #expect(report.unclosedMonths == [] && report.lines.map(\.isWholeMonth) == [true])
      #expect(try await queue.count("partition_made") == months - 1)
      #expect(try await queue.count("statement") == 0)
    }
  }

  @Test("A job that is still in a worker's hands goes when that has let go")
  func held() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      let claimed = try await queue.claim()
      #expect(try await queue.cancel([job]) == [job: "cancelled"])
      let later = try await queue.moment("2 years", after: try await queue.now(plus: 60))
      #expect(try await queue.purge(at: later).words == ["images 1"])
      #expect(try await queue.complete(claimed) == [])
      #expect(try await queue.purge(at: later).words == ["results 1"])
    }
  }
}
