import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Reviews")
struct ReviewTests {
  /// A user of the clinic `north` and one of `south`, each with an analysed job; a job of the first waits.
  private struct Reviewed {
    let queue: QueueFixture
    let north, south, waiting: JobID
  }

  private func with(_ body: (Reviewed) async throws -> Void) async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["ann", "sue"] { try await queue.addUser(user) }
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south'),
          analysis.assign_clinic(0::smallint, 'ann', 'north'), analysis.assign_clinic(0::smallint, 'sue', 'south')
        """)
      let jobs = try await queue.create([Ask("ann"), Ask("sue")])
      _ = try await queue.complete(try await queue.claim())
      let waiting = try await queue.create([Ask("ann", image: "later")])
      try await body(
        Reviewed(
          queue: queue, north: JobID(jobs[0]), south: JobID(jobs[1]), waiting: JobID(waiting[0])))
    }
  }

  /// Lends the reviews as a clinician sees them, who may be restricted to the clinic `north`.
  private func asClinician(
    _ name: String, in queue: QueueFixture, isRestricted: Bool = false,
    _ body: (ReviewDirectory, _ pool: ConnectionPool, _ login: String) async throws -> Void
  ) async throws {
    try await withLogin(name, of: ["clinician"], in: queue) { (pool) async throws in
      let login = try await pool.query("SELECT session_user::text").single().string(0)
      if isRestricted { try await queue.execute("SELECT analysis.grant_clinics('\(login)', '{north}')") }
      try await body(ReviewDirectory(pool), pool, login)
    }
  }

  private static let stored = """
    SELECT concat_ws(' ', reviewer, version, verdict, replaced_at IS NULL) FROM analysis.review ORDER BY reviewer, version
    """

  @Test("A login has one verdict of a job; a change keeps the one before, and the same again changes nothing")
  func changes() async throws {
    try await with { (reviewed) async throws in
      let (queue, job) = (reviewed.queue, reviewed.north)
      try await asClinician("a", in: queue) { (reviews, pool, login) async throws in
        let first = try await reviews.add(.agree, to: job, by: nil)
        #expect(first == ReviewOutcome(version: 1, before: nil, comment: nil))
        #expect(
          try await reviews.add(.agree, to: job, by: nil)
            == ReviewOutcome(version: 1, before: .agree, comment: nil))
        #expect(
          try await reviews.add(.disagree, comment: "It is\nblurred.", to: job, by: nil)
            == ReviewOutcome(version: 2, before: .agree, comment: 1))
        #expect(
          try await reviews.add(nil, comment: "Look again.", to: job, by: nil)
            == ReviewOutcome(version: 2, before: .disagree, comment: 2))
        #expect(try await queue.texts(Self.stored) == ["\(login) 1 1 f", "\(login) 2 2 t"])
        let detail = try #require(try await JobDirectory(pool).show(job))
        let remarks = try await reviews.remarks(on: detail)
        #expect(
          remarks.map(\.said) == [
            .verdict(.agree, instead: nil, version: 1, replacedAt: remarks[1].at),
            .verdict(.disagree, instead: nil, version: 2, replacedAt: nil), .comment("It is\nblurred."),
            .comment("Look again."),
          ])
        #expect(remarks.allSatisfy { $0.by == login })
      }
      // What changes nothing is no entry, and none has a word of the comments or the verdict.
      let entries = try await queue.texts(
        "SELECT concat_ws(' ', action, object, detail) FROM analysis.audit_draft WHERE action = 'review'")
      #expect(entries.count == 3 && entries.allSatisfy { $0.hasPrefix("review job:\(job) ") }, "\(entries)")
      #expect(!entries.joined().contains("blurred") && !entries.joined().contains("agree"))
    }
  }

  @Test("What it is instead goes with disagree, is a version of its own, and is listed, exported and erased")
  func instead() async throws {
    try await with { (reviewed) async throws in
      let (queue, job) = (reviewed.queue, reviewed.north)
      try await asClinician("a", in: queue) { (reviews, pool, _) async throws in
        _ = try await reviews.add(.disagree, to: job, by: nil)
        #expect(
          try await reviews.add(.disagree, instead: "Pharyngitis", to: job, by: nil)
            == ReviewOutcome(version: 2, before: .disagree, comment: nil))
        #expect(
          try await reviews.add(.disagree, instead: "Pharyngitis", to: job, by: nil)
            == ReviewOutcome(version: 2, before: .disagree, beforeInstead: "Pharyngitis", comment: nil))
        #expect(try await reviews.list().reviews.map(\.instead) == ["Pharyngitis"])
        let detail = try #require(try await JobDirectory(pool).show(job))
        #expect(
          try await reviews.remarks(on: detail).last?.said
            == .verdict(.disagree, instead: "Pharyngitis", version: 2, replacedAt: nil))
        let refused: [(Verdict?, String)] = [
          (.agree, "Pharyngitis"), (.unsure, "Pharyngitis"), (nil, "Pharyngitis"),
          (.disagree, String(repeating: "x", count: 201)), (.disagree, " \u{200B}"),
        ]
        for (verdict, instead) in refused {
          let error = await #expect(throws: JobQueueError.self, "\(instead)") {
            try await reviews.add(verdict, instead: instead, comment: "x", to: job, by: nil)
          }
          #expect(error?.code == .badRow && error?.message.contains("goes with disagree") == true)
        }
      }
      let export = try await PersonExport(of: "ann", in: queue.pool, as: nil)
      var jobs: [String] = []
      try await export.forEachJob(as: nil) { jobs.append($0) }
      #expect(jobs.joined().contains("\"instead\": \"Pharyngitis\""), "\(jobs)")
      let entries = try await queue.texts(
        "SELECT concat_ws(' ', object, detail) FROM analysis.audit_draft WHERE action = 'review'")
      #expect(entries.count == 2 && !entries.joined().contains("Pharyngitis"), "\(entries)")
      try await queue.erase("ann")
      #expect(try await queue.count("review") == 0)
    }
  }

  @Test("Two clinicians each have a verdict, and both are listed, the latest first, a page at a time")
  func two() async throws {
    try await with { (reviewed) async throws in
      let queue = reviewed.queue
      try await asClinician("a", in: queue) { (first, _, one) async throws in
        try await asClinician("b", in: queue) { (second, _, two) async throws in
          _ = try await first.add(.agree, to: reviewed.north, by: nil)
          _ = try await second.add(.unsure, comment: "Why?", to: reviewed.north, by: nil)
          _ = try await second.add(.disagree, to: reviewed.south, by: nil)
          let all = try await first.list()
          #expect(all.next == nil)
          #expect(all.reviews.map(\.reviewer) == [two, two, one])
          #expect(all.reviews.map(\.verdict) == [.disagree, .unsure, .agree])
          #expect(all.reviews.map(\.comments) == [0, 1, 1])
          let page = try await first.list(limit: 2)
          #expect(page.reviews == Array(all.reviews[..<2]))
          #expect(try await first.list(after: page.next, limit: 2).reviews == [all.reviews[2]])
          #expect(try await first.list(.init(user: "sue")).reviews == [all.reviews[0]])
          #expect(try await first.list(.init(verdict: .unsure)).reviews == [all.reviews[1]])
          #expect(try await first.list(.init(month: Period(label: 24000))).reviews == [])
          #expect(try await first.list(.init(user: "nobody")).reviews == [])
          // Each list is an entry, which names whom it was about.
          let entries = try await queue.texts(
            """
            SELECT concat_ws(' ', object, detail -> 'users', detail ->> 'verdict', detail ->> 'month')
            FROM analysis.audit_entry WHERE action = 'list_reviews' AND role = '\(one)' ORDER BY at
            """)
          let sue = try await queue.number("SELECT user_id::int FROM analysis.account WHERE user_ref = 'sue'")
          #expect(
            entries == [
              "reviews", "reviews", "reviews", "reviews [\(sue)]", "reviews unsure", "reviews 2000-01",
              "reviews",
            ])
        }
      }
    }
  }

  @Test(
    "A reading opens the list that its entry names, and no other",
    arguments: [
      (
        #"'ann', 'agree', NULL"#,
        ["NULL, NULL, NULL", "'ann', NULL, NULL", "NULL, 'agree', NULL", "'sue', 'agree', NULL"]
      ),
      (
        #"'ann', NULL, 24249::smallint"#,
        ["'ann', NULL, NULL", "'ann', NULL, 24250::smallint", "'sue', NULL, 24249::smallint"]
      ),
      (#"NULL, 'unsure', NULL"#, ["NULL, NULL, NULL", "NULL, 'agree', NULL", "NULL, NULL, 24249::smallint"]),
      (
        #"NULL, NULL, 24249::smallint"#,
        ["NULL, NULL, NULL", "NULL, NULL, 24250::smallint", "NULL, 'unsure', 24249::smallint"]
      ),
      (#"'nobody', NULL, NULL"#, ["'sue', NULL, NULL"]),
    ])
  func listed(recorded: String, others: [String]) async throws {
    try await with { (reviewed) async throws in
      let queue = reviewed.queue
      _ = try await ReviewDirectory(queue.pool).add(.agree, to: reviewed.south, by: nil)
      try await asClinician("a", in: queue) { (_, pool, _) async throws in
        let reading = try await pool.query("SELECT analysis.open_review_list(\(recorded))").single().string(0)
        func list(_ filters: String) async throws -> Int {
          try await pool.query(
            "SELECT FROM analysis.list_reviews(0::smallint, \(filters), NULL, NULL, 100, $1)",
            [.text(reading)]
          ).count
        }
        #expect(try await list(recorded) == 0)
        for other in others {
          let refused = await #expect(throws: PostgreSQLError.self, "\(other)") { try await list(other) }
          #expect(refused?.message.contains("of which open_review_list has recorded it") == true, "\(other)")
        }
      }
    }
  }

  @Test(
    "A job that one may not see, that is not there, or that has no analysis is refused, and nothing stored")
  func refused() async throws {
    try await with { (reviewed) async throws in
      let queue = reviewed.queue
      try await asClinician("north", in: queue, isRestricted: true) { (reviews, pool, login) async throws in
        func refusal(of job: JobID, comment: String? = nil) async -> JobQueueError? {
          await #expect(throws: JobQueueError.self) {
            try await reviews.add(.agree, comment: comment, to: job, by: nil)
          }
        }
        let unseen = await refusal(of: reviewed.south, comment: "confided")
        #expect(unseen?.code == .badRow)
        #expect(
          unseen?.message.contains("there is no job \(reviewed.south), or login \(login) may not see it")
            == true)
        #expect(unseen?.description.contains("confided") == false)
        #expect(await refusal(of: JobID(987_654_321))?.code == .notFound)
        #expect(await refusal(of: reviewed.waiting)?.message.contains("has no analysis") == true)
        #expect(
          await refusal(of: reviewed.north, comment: String(repeating: "x", count: 4001))?.code == .badRow)
        #expect(await refusal(of: reviewed.north, comment: " \u{200B}\n")?.code == .badRow)
        #expect(try await queue.count("review") == 0)
        #expect(try await queue.count("review_comment") == 0)
        #expect(
          try await queue.number("SELECT count(*)::int FROM analysis.audit_draft WHERE action = 'review'")
            == 0)
        // What others said of whom it does not see is not shown.
        _ = try await ReviewDirectory(queue.pool).add(.agree, comment: "x", to: reviewed.south, by: nil)
        _ = try await reviews.add(.unsure, to: reviewed.north, by: nil)
        #expect(try await reviews.list().reviews.map(\.user) == ["ann"])
        #expect(try await JobDirectory(pool).show(reviewed.south) == nil)
      }
      for role in ["operator", "reporter", "auditor", "submitter"] {
        try await withLogin(of: [role], in: queue) { (pool) async throws in
          let error = await #expect(throws: PostgreSQLError.self) {
            try await pool.query("SELECT analysis.add_review(0::smallint, 1, 'agree', NULL, NULL)")
          }
          #expect(error?.sqlState == "42501", "\(role)")
        }
      }
    }
  }

  @Test("Who is erased has no reviews and no comments any more, and gets none")
  func erased() async throws {
    try await with { (reviewed) async throws in
      let (queue, reviews) = (reviewed.queue, ReviewDirectory(reviewed.queue.pool))
      for job in [reviewed.north, reviewed.south] {
        _ = try await reviews.add(.agree, comment: "confided", to: job, by: nil)
      }
      try await queue.erase("ann")
      #expect(
        try await queue.texts("SELECT DISTINCT job_id::text FROM analysis.review") == ["\(reviewed.south)"])
      #expect(try await queue.count("review_comment") == 1)
      let error = await #expect(throws: JobQueueError.self) {
        try await reviews.add(.agree, to: reviewed.north, by: nil)
      }
      #expect(error?.message.contains("was erased") == true)
    }
  }

  @Test("A review that waits for the erasure of its person is not stored")
  func race() async throws {
    try await with { (reviewed) async throws in
      let queue = reviewed.queue
      try await queue.execute("ALTER FUNCTION analysis.add_review SET lock_timeout = '300s'")
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await queue.pool.transaction { open in
          try await queue.erase("ann", on: open)
          group.addTask {
            let error = await #expect(throws: JobQueueError.self) {
              try await ReviewDirectory(queue.pool).add(.agree, comment: "x", to: reviewed.north, by: nil)
            }
            #expect(error?.message.contains("was erased") == true, "\(error?.message ?? "")")
          }
          try await queue.untilSomebodyWaits()
        }
        try await group.waitForAll()
      }
      #expect(try await queue.count("review") == 0)
    }
  }

  @Test("Two verdicts of one login at the same moment are two versions")
  func atOnce() async throws {
    try await with { (reviewed) async throws in
      let queue = reviewed.queue
      try await withThrowingTaskGroup(of: Void.self) { group in
        for verdict in Verdict.allCases {
          group.addTask {
            _ = try await ReviewDirectory(queue.pool).add(verdict, comment: "x", to: reviewed.north, by: nil)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await queue.numbers("SELECT version::int FROM analysis.review ORDER BY 1") == [1, 2, 3])
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.review WHERE replaced_at IS NULL") == 1)
      #expect(
        try await queue.numbers("SELECT number::int FROM analysis.review_comment ORDER BY 1") == [1, 2, 3])
    }
  }

  @Test("They go with the result, by row and with the whole month", arguments: [false, true])
  func purged(wholeMonth: Bool) async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("ann")
      let job = try await queue.create([Ask("ann")])[0]
      _ = try await queue.complete(try await queue.claim())
      if !wholeMonth {
        // One that lives keeps the month.
        _ = try await queue.create([Ask("ann", image: "later")])
      }
      try await queue.moveBack(months: 30)
      _ = try await ReviewDirectory(queue.pool).add(.agree, comment: "x", to: JobID(job), by: nil)
      _ = try await queue.purge()
      #expect(try await queue.count("result") == 0)
      #expect(try await queue.count("review") == 0)
      #expect(try await queue.count("review_comment") == 0)
    }
  }

  @Test("An export has every version and the comments")
  func exported() async throws {
    try await with { (reviewed) async throws in
      let reviews = ReviewDirectory(reviewed.queue.pool)
      _ = try await reviews.add(.agree, comment: "First.", to: reviewed.north, by: nil)
      _ = try await reviews.add(.disagree, to: reviewed.north, by: nil)
      let export = try await PersonExport(of: "ann", in: reviewed.queue.pool, as: nil)
      var jobs: [String] = []
      try await export.forEachJob(as: nil) { jobs.append($0) }
      let job = try #require(jobs.first { $0.contains("\"succeeded\"") })
      #expect(job.contains("\"verdict\": \"agree\"") && job.contains("\"verdict\": \"disagree\""), "\(job)")
      #expect(job.contains("\"comment\": \"First.\""))
    }
  }
}
