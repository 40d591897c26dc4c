import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Months of accounts")
struct PeriodTests {
  /// Moments round month ends, and the month each zone counts them in.
  static let moments: [(moment: String, zone: String, month: String)] = [
    ("2020-10-31T16:59:59.999999Z", "Asia/Jakarta", "2020-10"),
    ("2020-10-31T17:00:00Z", "Asia/Jakarta", "2020-11"),
    ("2020-10-31T16:59:59.999999Z", "UTC", "2020-10"), ("2020-10-31T23:59:59.999999Z", "UTC", "2020-10"),
    ("2020-11-01T00:00:00Z", "UTC", "2020-11"), ("2020-11-01T00:00:00Z", "Asia/Jakarta", "2020-11"),
    // New York is at -4 until 2 o'clock of 1 November 2020, then at -5.
    ("2020-11-01T00:00:00Z", "America/New_York", "2020-10"),
    ("2020-11-01T03:59:59.999999Z", "America/New_York", "2020-10"),
    ("2020-11-01T04:00:00Z", "America/New_York", "2020-11"),
    ("2020-12-01T04:59:59Z", "America/New_York", "2020-11"),
    ("2020-12-01T05:00:00Z", "America/New_York", "2020-12"), ("2020-12-31T23:59:59Z", "UTC", "2020-12"),
    ("2021-01-01T00:00:00Z", "UTC", "2021-01"), ("2020-12-31T17:00:00Z", "Asia/Jakarta", "2021-01"),
    // Midnight of 1 November 2020 came twice in Havana: at 4 and at 5 o'clock UTC.
    ("2020-11-01T03:59:59Z", "America/Havana", "2020-10"),
    ("2020-11-01T04:30:00Z", "America/Havana", "2020-11"),
    ("2020-11-01T05:30:00Z", "America/Havana", "2020-11"), ("2016-02-29T23:59:59Z", "UTC", "2016-02"),
  ]

  @Test("A moment counts in the month of the account's zone", arguments: moments)
  func month(moment: String, zone: String, month: String) async throws {
    try await withCheckedQueue { queue in
      let counted = try await queue.texts(
        "SELECT analysis.period_text(analysis.period_of($1::text::timestamptz, $2))",
        [.text(moment), .text(zone)])
      #expect(counted == [month])
    }
  }

  @Test("A month's start is its first moment, and its end the next one's start, in every zone of the server")
  func startIsTheInverse() async throws {
    try await withCheckedQueue { queue in
      let wrong = try await queue.texts(
        """
        SELECT z.name || ' ' || analysis.period_text(p::smallint)
        FROM pg_timezone_names z, generate_series(24180, 24420, 1) p
        CROSS JOIN LATERAL (SELECT analysis.period_start(p::smallint, z.name) AS at OFFSET 0) s
        WHERE z.name ~ '^(UTC|[A-Z][A-Za-z_]+/[A-Za-z_/]+)$' AND z.name !~ '^(posix|right)/'
          AND (analysis.period_of(s.at, z.name) <> p OR analysis.period_of(s.at - interval '1 microsecond', z.name) <> p - 1)
        """)
      #expect(wrong == [])
    }
  }

  @Test("Three users who submit at the same moment count in the month of their own zones")
  func submitters() async throws {
    try await withCheckedQueue { queue in
      // The clocks of a place may be changed; these zones are so many hours off for ever, the sign the other way round.
      let zones = ["east": "Etc/GMT-7", "west": "Etc/GMT+5", "utc": "UTC"]
      for (user, zone) in zones { try await queue.addUser(user, zone: zone) }
      // Moments round the end of the present month, as far as each zone's month differs.
      let end = try await queue.pool.query(
        "SELECT extract(epoch FROM analysis.period_start((analysis.period_of(now(), 'UTC') + 1)::smallint, 'UTC'))::float8"
      ).single().double(0)
      let period = Int16(try await queue.number("SELECT analysis.period_of(now(), 'UTC')"))
      for (offset, east) in [
        (-7.0 * 3600 - 1, period), (-7.0 * 3600, period + 1), (-1, period + 1), (0, period + 1),
      ] {
        let at = end + offset
        guard at > (try await queue.now(plus: 5)) else { continue }
        let answers = try await queue.submit([
          Ask("east", at: at), Ask("west", at: at), Ask("utc", at: at),
        ])
        #expect(answers.map(\.outcome) == ["created", "created", "created"])
        #expect(answers.map(\.period) == [east, period, offset < 0 ? period : period + 1])
      }
      let units = try await queue.numbers("SELECT sum(used)::int FROM analysis.usage GROUP BY user_id")
      #expect(Set(units).count == 1)
    }
  }

  @Test(
    "A job that was submitted keeps its month when its zone's clocks change, and the next one counts by the new ones"
  )
  func changedZone() async throws {
    try await withCheckedQueue { queue in
      // An update of the server's zone data cannot be made here; another zone has the same effect.
      try await queue.addUser("user", zone: "Etc/GMT+11")
      let period = Int16(try await queue.number("SELECT analysis.period_of(now(), 'UTC')"))
      let end = try await queue.pool.query(
        "SELECT extract(epoch FROM analysis.period_start($1, 'UTC'))::float8", [.int16(period + 1)]
      ).single().double(0)
      // Eleven hours before the month ends there.
      let first = try await queue.submit([Ask("user", at: end + 1)])
      try await queue.execute("UPDATE analysis.account SET zone = 'UTC'")
      let second = try await queue.submit([Ask("user", at: end + 1)])
      #expect((first + second).map(\.period) == [period, period + 1])
      for table in ["job", "scheduled"] {
        #expect(
          try await queue.numbers("SELECT period::int FROM analysis.\(table) ORDER BY 1") == [
            Int(period), Int(period) + 1,
          ])
      }
      #expect(try await queue.numbers("SELECT used FROM analysis.usage ORDER BY period") == [1, 1])
    }
  }

  @Test("A job for later pays in the month it names, and waits until then")
  func scheduledAhead() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      let next = try await queue.pool.query(
        "SELECT extract(epoch FROM analysis.period_start((analysis.period_of(now(), 'UTC') + 1)::smallint, 'UTC'))::float8"
      ).single().double(0)
      let answers = try await queue.submit(Ask("free") * 5 + Ask("free", at: next + 60) * 6)
      #expect(answers[..<10].allSatisfy { $0.outcome == "created" })
      #expect(answers[10].reason == "quota")
      #expect(answers[5].period == (answers[0].period ?? 0) + 1)
      #expect(try await queue.numbers("SELECT used FROM analysis.usage ORDER BY period") == [5, 5])
      #expect(try await queue.claim().count == 5)
      #expect(try await queue.promote() == 0)
    }
  }

  @Test(
    "A job that is tried again or rescued stays in its month; a dead one that is retried moves to the present"
  )
  func later() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user", key: "k")])[0]
      let present = try await queue.number("SELECT analysis.period_of(now(), 'UTC')")
      // A month goes by.
      try await queue.execute(
        """
        UPDATE analysis.job SET period = (period - 1)::smallint; UPDATE analysis.ready SET period = (period - 1)::smallint;
        UPDATE analysis.idem SET period = (period - 1)::smallint; UPDATE analysis.usage SET period = (period - 1)::smallint
        """)
      let first = try await queue.claim()
      _ = try await queue.fail([job], leases: [first[0].lease], delay: 0)
      let second = try await queue.claim(lease: 200)
      #expect(second.map { Int($0.period) } == [present - 1])
      _ = try await queue.fail([job], leases: [second[0].lease], delay: nil, failureClass: "permanent")
      #expect(try await queue.applyRefunds() == 1)

      #expect(try await queue.retryDead([job]) == [job: "requeued"])
      #expect(try await queue.retryDead([job]) == [job: "not_dead"])
      #expect(try await queue.numbers("SELECT used FROM analysis.usage ORDER BY period") == [0, 1])
      // The key still answers the job, and the history is whole.
      let repeated = try await queue.submit([Ask("user", key: "k")])[0]
      #expect(repeated.job == job)
      #expect(repeated.period.map(Int.init) == present)
      #expect(
        try await queue.number("SELECT count(*) FROM analysis.attempts_of(0::smallint, $1)", [.int64(job)])
          == 2)
      let third = try await queue.claim(lease: 300)
      #expect(third.map(\.attempt) == [1])
      #expect(try await queue.complete(third) == [job])
      #expect(try await queue.numbers("SELECT period FROM analysis.result") == [present])
    }
  }

  @Test("A retry takes a unit of the present month, as many as there are")
  func retryTakesUnits() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      let jobs = try await queue.create(Ask("free") * 5)
      let claimed = try await queue.claim()
      _ = try await queue.fail(jobs, leases: [claimed[0].lease], delay: nil)
      _ = try await queue.create(Ask("free") * 3)
      let outcomes = try await queue.retryDead(jobs)
      #expect(jobs.map { outcomes[$0] } == ["requeued", "requeued", "quota", "quota", "quota"])
      #expect(try await queue.usage("free") == QueueFixture.Usage(used: 5, refunded: 5))
    }
  }

  @Test(
    "A zone that is no name of the IANA database is refused",
    arguments: ["Mars/Olympus", "EST5EDT,M3", "+07", "PDT", ""])
  func unknownZone(zone: String) async throws {
    try await withCheckedQueue { queue in
      await #expect(throws: PostgreSQLError.self) {
        try await queue.number(
          "SELECT o_user_id FROM analysis.add_user(0::smallint, 'user', 'premium', $1, NULL, NULL)",
          [.text(zone)])
      }
    }
  }
}
