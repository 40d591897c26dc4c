import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("A photo without a key is one job a day")
struct PhotosOnceTests {
  private func with(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await queue.execute("UPDATE analysis.setting SET value = 'yes' WHERE name = 'photos_once'")
      try await body(queue)
    }
  }

  private func one(_ queue: QueueFixture, _ ask: Ask, on queryable: (any Queryable)? = nil) async throws
    -> Answer
  {
    try #require(try await queue.submit([ask], on: queryable).first)
  }

  @Test(
    "The same image and type of a user is the job there is, counts nothing, and is answered over the limit")
  func once() async throws {
    try await with { queue in
      try await queue.execute("SELECT analysis.set_plan(0::smallint, 'ann', 'free', NULL)")
      let first = try await one(queue, Ask("ann"))
      #expect(first.outcome == "created")
      for ask in [Ask("ann"), Ask("ann", priority: 0), Ask("ann", withBytes: false)] {
        let again = try await one(queue, ask)
        #expect(again.outcome == "duplicate" && again.job == first.job && again.period == first.period)
      }
      for ask in [
        Ask("ann", kind: 2), Ask("ann", image: "another"), Ask("ann", key: "visit 2"), Ask("bob"),
        Ask("ann", at: try await queue.now(plus: 60)),
      ] {
        #expect(try await one(queue, ask).outcome == "created")
      }
      #expect(try await one(queue, Ask("ann", image: "a sixth")).reason == "quota")
      #expect(try await one(queue, Ask("ann", image: "another")).outcome == "duplicate")
      _ = try await queue.complete(try await queue.claim())
      #expect(try await one(queue, Ask("ann", image: "another")).outcome == "duplicate", "it has an analysis")
      #expect(try await queue.units == 6)
    }
  }

  @Test("Within one call the later ones are the first one's, and share its fate")
  func within() async throws {
    try await with { queue in
      try await queue.execute("SELECT analysis.set_plan(0::smallint, 'ann', 'free', NULL)")
      let known = try await one(queue, Ask("ann"))
      let answers = try await queue.submit([
        Ask("ann"), Ask("ann", image: "new"), Ask("bob", image: "new"), Ask("ann", image: "new"),
        Ask("ann", image: "keyed", key: "k"), Ask("ann", image: "keyed", key: "k"),
        Ask("ann", kind: 2, image: "new"),
        Ask("ann", image: "last"), Ask("ann", image: "too many"), Ask("ann", image: "too many"),
      ])
      #expect(
        answers.map { $0.reason ?? $0.outcome } == [
          "duplicate", "created", "created", "duplicate", "created", "duplicate", "created", "created",
          "quota",
          "quota",
        ])
      #expect(answers[0].job == known.job && answers[3].job == answers[1].job)
      #expect(try await queue.units == 6)
    }
  }

  @Test("What died or was cancelled, is older than a day, or another login's, is submitted anew")
  func anew() async throws {
    try await with { queue in
      let cancelled = try #require(try await one(queue, Ask("ann")).job)
      _ = try await queue.cancel([cancelled])
      let next = try await one(queue, Ask("ann"))
      #expect(next.outcome == "created")
      let claimed = try await queue.claim()
      _ = try await queue.fail(claimed.map(\.job), leases: claimed.map(\.lease), delay: nil)
      #expect(try await one(queue, Ask("ann")).outcome == "created", "it died")
      try await queue.execute("UPDATE analysis.job SET created_at = created_at - interval '25 hours'")
      let today = try await one(queue, Ask("ann"))
      #expect(today.outcome == "created")
      try await withLogin(of: ["submitter"], in: queue) { login in
        let other = try await one(queue, Ask("ann"), on: login)
        #expect(other.outcome == "created" && other.job != today.job)
        #expect(try await one(queue, Ask("ann"), on: login).job == other.job)
      }
    }
  }

  @Test("On the first of a month, by the user's clock, the month before is looked at too")
  func months() async throws {
    try await with { queue in
      func months(_ time: String) async throws -> [Int] {
        try await queue.numbers(
          """
          SELECT o_period::int FROM analysis.months_of_day(0::smallint,
            (SELECT user_id FROM analysis.account WHERE user_ref = 'ann'), '\(time)') ORDER BY 1
          """
        )
      }
      let (first, second) = (
        try await months("2021-11-01T00:30:00Z"), try await months("2021-11-02T00:30:00Z")
      )
      #expect(first == [24261, 24262] && second == [24262])
    }
  }

  @Test("Two at once are one job, in each isolation", arguments: ["READ COMMITTED", "SERIALIZABLE"])
  func atOnce(isolation: String) async throws {
    try await with { queue in
      let first = try await queue.database.connect(on: queue.loop)
      try await first.execute(script: "BEGIN ISOLATION LEVEL \(isolation)")
      let held = try await one(queue, Ask("ann"), on: first)
      #expect(held.outcome == "created")
      let second = Task { [self] in
        try await queue.pool.transaction { transaction in
          _ = try await transaction.query("SET TRANSACTION ISOLATION LEVEL \(isolation)")
          _ = try await transaction.query("SELECT count(*) FROM analysis.job")
          return try await one(queue, Ask("ann"), on: transaction)
        }
      }
      try await queue.untilSomebodyWaits()
      try await first.execute(script: "COMMIT")
      await first.close()
      let answer = await second.result
      if isolation == "READ COMMITTED" {
        #expect(try answer.get().job == held.job)
      } else {
        // Its snapshot is older.
        #expect(throws: (any Error).self) { try answer.get() }
      }
      #expect(try await queue.count("job") == 1)
      #expect(try await queue.units == 1)
    }
  }

  @Test("Without the setting each is a job, and a gateway's is one all the same")
  func setting() async throws {
    try await with { queue in
      try await queue.execute("UPDATE analysis.setting SET value = 'no' WHERE name = 'photos_once'")
      #expect(try await one(queue, Ask("ann")).job != one(queue, Ask("ann")).job)
      try await queue.addToken("bob")
      try await withLogin(of: ["gateway"], in: queue) { gateway in
        func send() async throws -> Int64 {
          try await gateway.query(
            """
            SELECT o_job FROM analysis.gateway_submit(0::smallint, sha256('bob'), 'bob', 1::smallint, sha256('photo'),
              'photo'::bytea, '{640,480}', NULL, NULL, NULL)
            """
          ).single().int64(0)
        }
        let job = try await send()
        #expect(try await send() == job)
        let open = try await gateway.query(
          "SELECT o_job, o_state FROM analysis.gateway_jobs(0::smallint, sha256('bob'))"
        ).single()
        #expect(try open.int64(0) == job && open.string(1) == "waiting")
      }
      // What the gateway set for its transaction is over.
      #expect(try await one(queue, Ask("bob")).outcome == "created")
    }
  }
}
