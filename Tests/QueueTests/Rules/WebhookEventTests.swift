import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control

@Suite("Events for webhooks")
struct WebhookEventTests {
  private static let secret = "decode(repeat('07', 150), 'hex')"

  /// Adds a webhook of a user or a clinic by SQL; what the secret is nobody looks at here.
  private func add(_ queue: QueueFixture, user: String? = nil, clinic: String? = nil) async throws -> Int {
    func text(_ name: String?) -> String { name.map { "'\($0)'" } ?? "NULL" }
    return try await queue.number(
      """
      SELECT analysis.add_webhook(\(user == nil ? "NULL" : "0")::smallint, \(text(user)), \(text(clinic)),
        'https://r.example.org/x?token=confided', \(Self.secret), false, false)
      """)
  }

  /// Takes what is due, as worker 1 does; answers the events' numbers.
  private func take(_ queue: QueueFixture, worker: Int = 1, each: Int = 10) async throws -> [Int] {
    try await queue.numbers(
      "SELECT o_event FROM analysis.claim_deliveries(0::smallint, sha256('\(worker)'), '{}', 10, \(each))")
  }

  /// Stores what came of events; answers the webhooks that were switched off.
  private func finish(
    _ queue: QueueFixture, _ events: [Int], _ outcome: String, worker: Int = 1
  ) async throws -> [Int] {
    let list = events.map(String.init).joined(separator: ",")
    return try await queue.numbers(
      """
      SELECT o_webhook FROM analysis.finish_deliveries(0::smallint, sha256('\(worker)'), ARRAY[\(list)]::bigint[],
        array_fill('\(outcome)'::text, ARRAY[\(events.count)]), array_fill('it answered 500'::text, ARRAY[\(events.count)]),
        array_fill(NULL::bigint, ARRAY[\(events.count)]))
      """)
  }

  @Test(
    "are written for each way in which a job ends, in the transaction that ends it; none without a webhook")
  func written() async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      _ = try await queue.create([Ask("ann", image: "before")])
      _ = try await queue.complete(try await queue.claim())
      #expect(try await queue.count("webhook_event") == 0)
      _ = try await add(queue, user: "ann")
      _ = try await queue.create([Ask("ann", image: "done"), Ask("bob", image: "done")])
      _ = try await queue.complete(try await queue.claim())
      let dead = try await queue.deadJob("ann")
      let cancelled = try await queue.create([Ask("ann", image: "gone")])
      _ = try await queue.cancel(cancelled)
      #expect(
        try await queue.texts("SELECT state || ':' || attempts FROM analysis.webhook_event ORDER BY id")
          == ["1:0", "3:0", "2:0"])
      // A dead job that dies once more has another event.
      _ = try await queue.pool.query("SELECT analysis.retry_dead(0::smallint, ARRAY[\(dead)]::bigint[])")
      _ = try await queue.fail([dead], leases: [try await queue.claim(1, lease: 900)[0].lease], delay: nil)
      #expect(try await queue.count("webhook_event WHERE state = 3") == 2)
    }
  }

  @Test(
    "are written when a user comes to 80 % and to all of the limit, by each way of submitting, and for no other"
  )
  func limits() async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["ann", "bob", "carl"] { try await queue.addUser(user, plan: "free") }
      _ = try await add(queue, user: "ann")
      _ = try await add(queue, user: "carl")
      var jobs: [Int64] = []
      for number in 1...6 {
        for user in ["ann", "bob"] {
          jobs += try await queue.submit([Ask(user, image: "photo \(number)")]).compactMap(\.job)
        }
      }
      let events =
        "SELECT state || ' ' || (job_id IS NULL) FROM analysis.webhook_event WHERE state > 3 ORDER BY id"
      #expect(try await queue.texts(events) == ["4 true", "5 true"])
      // A unit that comes back does not count, and is reached again.
      _ = try await queue.cancel([jobs[0]])
      _ = try await queue.create([Ask("ann", image: "once more")])
      #expect(try await queue.texts(events) == ["4 true", "5 true", "5 true"])
      // Many at once: the highest alone.
      _ = try await queue.submit((1...7).map { Ask("carl", image: "photo \($0)") })
      #expect(try await queue.count("webhook_event WHERE state = 4") == 1)
      #expect(try await queue.count("webhook_event WHERE state = 5") == 3)
      let told = try await queue.texts(
        """
        SELECT concat_ws(' ', o_state, o_detail ->> 'user', o_detail ->> 'percent')
        FROM analysis.claim_deliveries(0::smallint, sha256('1'), '{}', 10, 10) WHERE o_job IS NULL ORDER BY o_event
        """)
      #expect(told == ["limit ann 80", "limit ann 100", "limit ann 100", "limit carl 100"])
    }
  }

  @Test("of a clinic are those of its users, and a user's own webhook has them too")
  func clinics() async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await queue.execute(
        "SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'ann', 'north')")
      let (clinic, own) = (try await add(queue, clinic: "north"), try await add(queue, user: "ann"))
      _ = try await queue.create([Ask("ann"), Ask("bob")])
      _ = try await queue.complete(try await queue.claim())
      #expect(
        try await queue.numbers("SELECT webhook_id FROM analysis.webhook_event ORDER BY 1")
          == [clinic, own].sorted())
    }
  }

  @Test("are taken for two minutes by one worker, whose outcome alone counts")
  func taken() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      _ = try await add(queue, user: "ann")
      _ = try await queue.create([Ask("ann", image: "1"), Ask("ann", image: "2")])
      _ = try await queue.complete(try await queue.claim())
      let events = try await take(queue)
      #expect(events.count == 2)
      #expect(try await take(queue, worker: 2) == [])
      #expect(try await finish(queue, events, "delivered", worker: 2) == [])
      #expect(try await queue.count("webhook_event WHERE delivered_at IS NOT NULL") == 0)
      // What was not sent comes back at once, as if it had not been tried.
      _ = try await finish(queue, [events[0]], "released")
      #expect(try await take(queue, worker: 2) == [events[0]])
      try await queue.execute("UPDATE analysis.webhook_event SET due_at = now() - interval '1 second'")
      #expect(try await take(queue, worker: 2) == events)
      #expect(try await finish(queue, events, "delivered") == [])
      #expect(try await queue.count("webhook_event WHERE delivered_at IS NOT NULL") == 0)
      _ = try await finish(queue, events, "delivered", worker: 2)
      #expect(try await queue.count("webhook_event WHERE delivered_at IS NOT NULL") == 2)
    }
  }

  @Test("of a webhook that was told nothing for longer come first, however long another's have been due")
  func fairness() async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let (many, few) = (try await add(queue, user: "ann"), try await add(queue, user: "bob"))
      _ = try await queue.create([Ask("ann", image: "1"), Ask("bob", image: "2")])
      _ = try await queue.complete(try await queue.claim())
      try await queue.execute(
        """
        UPDATE analysis.webhook_event SET due_at = due_at - interval '1 hour' WHERE webhook_id = \(many);
        UPDATE analysis.webhook SET last_success_at = now() WHERE id = \(many)
        """)
      #expect(
        try await queue.numbers(
          "SELECT o_webhook FROM analysis.claim_deliveries(0::smallint, sha256('1'), '{}', 1, 10)") == [few])
    }
  }

  @Test("are sent again after ever longer times, up to six hours")
  func backoff() async throws {
    try await withQueue { (queue) async throws in
      #expect(
        try await queue.numbers(
          """
          SELECT extract(epoch FROM analysis.delivery_delay(n))::int
          FROM unnest('{0,1,2,3,4,8,9,100}'::int[]) n
          """) == [5, 5, 15, 45, 135, 10_935, 21_600, 21_600])
    }
  }

  @Test("While a webhook fails it is sent one at a time, by one worker")
  func failing() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      _ = try await add(queue, user: "ann")
      _ = try await queue.create((1...5).map { Ask("ann", image: "\($0)") })
      _ = try await queue.complete(try await queue.claim())
      let events = try await take(queue)
      _ = try await finish(queue, [events[0]], "failed")
      _ = try await finish(queue, Array(events[1...]), "released")
      #expect(try await take(queue) == [])
      try await queue.execute(
        """
        UPDATE analysis.webhook SET retry_at = now() - interval '1 second';
        UPDATE analysis.webhook_event SET due_at = now() - interval '1 second'
        """)
      #expect(try await take(queue).count == 1)
      #expect(try await take(queue, worker: 2) == [])
    }
  }

  @Test("have the cause of their own last failure, and none after they were taken or replayed")
  func ownFailure() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let webhook = try await add(queue, user: "ann")
      _ = try await queue.create([Ask("ann", image: "1"), Ask("ann", image: "2")])
      _ = try await queue.complete(try await queue.claim())
      let events = try await take(queue)
      func failures() async throws -> [String] {
        var failures: [String] = []
        for event in events {
          failures.append(
            try await queue.text(
              "SELECT coalesce(o_failure, '-') FROM analysis.webhook_event_state(0::smallint, \(event))"))
        }
        return failures
      }
      _ = try await finish(queue, [events[0]], "failed")
      #expect(try await failures() == ["it answered 500", "-"])
      _ = try await finish(queue, [events[1]], "delivered")
      #expect(try await failures() == ["it answered 500", "-"])
      _ = try await queue.number("SELECT analysis.replay_webhook(\(webhook), NULL, NULL, NULL, true)")
      #expect(try await failures() == ["-", "-"])
    }
  }

  @Test(
    "that fail for three days switch the webhook off, unless it has taken another one; a replay switches it on"
  )
  func switchedOff() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let webhook = try await add(queue, user: "ann")
      _ = try await queue.create([Ask("ann", image: "1"), Ask("ann", image: "2")])
      _ = try await queue.complete(try await queue.claim())
      func age(_ time: String) async throws {
        try await queue.execute(
          """
          UPDATE analysis.webhook_event SET tried_at = now() - interval '\(time)', due_at = now() - interval '1 second'
          WHERE due_at IS NOT NULL;
          UPDATE analysis.webhook SET retry_at = NULL, failures = 0
          """)
      }
      try await age("71 hours")
      let events = try await take(queue)
      #expect(try await finish(queue, events, "failed") == [])
      // One was given up, but another was taken since it was first tried: the receiver lives.
      try await age("73 hours")
      #expect(try await take(queue) == events)
      _ = try await finish(queue, [events[1]], "delivered")
      #expect(try await finish(queue, [events[0]], "failed") == [])
      #expect(try await queue.count("webhook_event WHERE failed_at IS NOT NULL") == 1)
      #expect(try await queue.count("webhook WHERE off_at IS NULL") == 1)
      // The same without that.
      try await queue.execute("UPDATE analysis.webhook SET last_success_at = now() - interval '4 days'")
      _ = try await queue.number(
        "SELECT analysis.replay_webhook(\(webhook), NULL, NULL, NULL, true)")
      try await age("73 hours")
      #expect(try await take(queue) == [events[0]])
      #expect(try await finish(queue, [events[0]], "failed") == [webhook])
      #expect(try await queue.text("SELECT off_reason FROM analysis.webhook") == "failed")
      // Nothing is written while it is off, and nothing is due.
      _ = try await queue.create([Ask("ann", image: "3")])
      _ = try await queue.complete(try await queue.claim(lease: 300))
      #expect(try await queue.count("webhook_event") == 2)
      #expect(
        try await queue.number("SELECT analysis.replay_webhook(\(webhook), NULL, NULL, NULL, true)") == 1)
      #expect(try await queue.count("webhook WHERE off_at IS NULL AND failures = 0") == 1)
      #expect(try await take(queue) == [events[0]])
    }
  }

  @Test("are sent again since a moment, one alone, or those that were not delivered, with the same numbers")
  func replayed() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let webhook = try await add(queue, user: "ann")
      _ = try await queue.create((1...3).map { Ask("ann", image: "\($0)") })
      _ = try await queue.complete(try await queue.claim())
      let events = try await take(queue)
      _ = try await finish(queue, events, "delivered")
      try await queue.execute(
        "UPDATE analysis.webhook_event SET at = at - interval '1 day' WHERE id <> \(events[2])")
      func replay(_ arguments: String) async throws -> Int {
        try await queue.number("SELECT analysis.replay_webhook(\(webhook), \(arguments))")
      }
      #expect(try await replay("NULL, NULL, NULL, true") == 0)
      #expect(try await replay("now() - interval '1 hour', NULL, NULL, false") == 1)
      #expect(try await take(queue) == [events[2]])
      #expect(try await replay("NULL, 0::smallint, \(events[0]), false") == 1)
      #expect(try await take(queue) == [events[0]])
      // What a worker is sending now is left to it.
      #expect(try await replay("now() - interval '2 days', NULL, NULL, false") == 1)
    }
  }

  @Test("are removed a week after they were delivered, and 30 days after their job ended")
  func purged() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      _ = try await add(queue, user: "ann")
      _ = try await queue.create((1...4).map { Ask("ann", image: "\($0)") })
      _ = try await queue.complete(try await queue.claim())
      let events = try await take(queue)
      _ = try await finish(queue, Array(events[..<2]), "delivered")
      try await queue.execute(
        """
        UPDATE analysis.webhook_event SET at = now() - interval '8 days',
          delivered_at = delivered_at - CASE id WHEN \(events[0]) THEN interval '8 days' ELSE interval '6 days' END;
        UPDATE analysis.webhook_event SET at = now() - interval '31 days' WHERE id = \(events[3])
        """)
      #expect(try await queue.number("SELECT analysis.purge_deliveries(0::smallint, 100)") == 2)
      #expect(
        try await queue.numbers("SELECT id FROM analysis.webhook_event ORDER BY 1") == [events[1], events[2]])
    }
  }

  @Test("go with a purge where no worker delivers any more, by month, and a dry run says the same")
  func purgedWithoutCourier() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let webhook = try await add(queue, user: "ann")
      _ = try await queue.create((1...6).map { Ask("ann", image: "\($0)") })
      _ = try await queue.complete(try await queue.claim(6))
      let events = try await take(queue)
      _ = try await finish(queue, Array(events[..<2]), "delivered")
      // The first was delivered 8 days ago, the third never in 31 days; and three have lost their webhook.
      try await queue.execute(
        """
        UPDATE analysis.webhook_event SET at = now() - interval '8 days', delivered_at = now() - interval '8 days'
        WHERE id = \(events[0]);
        UPDATE analysis.webhook_event SET at = now() - interval '31 days' WHERE id = \(events[2]);
        UPDATE analysis.webhook_event SET webhook_id = \(webhook + 1) WHERE id > \(events[2])
        """)
      let months = try await queue.texts(
        """
        SELECT analysis.period_text(analysis.period_of(e.at, 'UTC')) || ' ' || count(*) FROM analysis.webhook_event e
        WHERE e.id <> \(events[1]) GROUP BY analysis.period_of(e.at, 'UTC') ORDER BY analysis.period_of(e.at, 'UTC')
        """)
      try await withLogin(of: ["retention"], in: queue) { (login) async throws in
        func purge(dry isDry: Bool) async throws -> [String] {
          var settings = Purger.Settings()
          settings.isDry = isDry
          settings.share = 1
          settings.chunk = 2
          let lines = try await Purger(login, settings).run().lines
          #expect(lines.allSatisfy { $0.kind == .events && $0.bytes > 0 })
          return lines.map { "\($0.month) \($0.rows)" }
        }
        #expect(try await purge(dry: true) == months)
        #expect(try await queue.count("webhook_event") == 6)
        #expect(try await purge(dry: false) == months)
        #expect(try await queue.numbers("SELECT id FROM analysis.webhook_event") == [events[1]])
        #expect(try await queue.count("audit_entry WHERE action = 'purge' AND object = 'events'") == 1)
        #expect(try await purge(dry: false) == [])
      }
    }
  }

  @Test("that were being written while their webhook was removed are purged at once")
  func orphans() async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let (removed, kept) = (try await add(queue, user: "ann"), try await add(queue, user: "bob"))
      _ = try await queue.create([Ask("ann", image: "1"), Ask("bob", image: "2")])
      try await queue.pool.transaction { transaction in
        _ = try await transaction.query(
          """
          SELECT analysis.note_endings(0::smallint, 1::smallint, now(), array_agg(j.id), array_agg(j.period),
            array_agg(j.user_id))
          FROM analysis.job j
          """)
        try await queue.execute("SELECT analysis.remove_webhook(\(removed))")
      }
      #expect(try await queue.count("webhook_event") == 2)
      #expect(try await queue.number("SELECT analysis.purge_deliveries(0::smallint, 100)") == 1)
      #expect(try await queue.numbers("SELECT webhook_id FROM analysis.webhook_event") == [kept])
    }
  }

  @Test("of a person go with the erasure, and the person's webhooks; the export has them without the secret")
  func erased() async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'ann', 'north'),
          analysis.assign_clinic(0::smallint, 'bob', 'north')
        """)
      _ = try await add(queue, user: "ann")
      _ = try await add(queue, clinic: "north")
      _ = try await queue.create([Ask("ann", image: "1"), Ask("bob", image: "2")])
      _ = try await queue.complete(try await queue.claim())
      let account = try await PersonExport(of: "ann", in: queue.pool, as: nil).account
      #expect(account.contains("https://r.example.org/x?token=confided") && account.contains(#""told""#))
      #expect(!account.contains("0707"))
      // The erasure cancels a job that has not ended; it sends no event about that.
      _ = try await queue.create([Ask("ann", image: "3")])
      _ = try await queue.pool.query("SELECT * FROM analysis.erase_user(0::smallint, 'ann', NULL, true)")
      #expect(try await queue.count("webhook WHERE user_id IS NOT NULL") == 0)
      #expect(try await queue.count("webhook") == 1)
      #expect(
        try await queue.texts(
          "SELECT a.user_ref FROM analysis.webhook_event e JOIN analysis.account a USING (shard, user_id)")
          == ["bob"])
    }
  }

  @Test(
    "An address that is not https, has an account, or hides something is refused, and so is a secret in plaintext",
    arguments: [
      "http://r.example.org/", "https://ann@r.example.org/", "https://r.example.org/#a",
      "ftp://r.example.org/",
      "https:///x", "https://r.example.org/ x", "https://r.example.org\\@evil.example/",
    ])
  func refused(url: String) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      func state(_ url: String, _ secret: String) async throws -> String? {
        do {
          _ = try await queue.pool.query(
            "SELECT analysis.add_webhook(0::smallint, 'ann', NULL, $1, \(secret), false, false)", [.text(url)]
          )
          return nil
        } catch {
          #expect(!error.message.contains("evil") && !error.message.contains("example"))
          return error.sqlState
        }
      }
      #expect(try await state(url, Self.secret) == "22023")
      #expect(try await state("https://r.example.org/", "'whsec_'::bytea") == "22023")
      #expect(try await state("https://r.example.org:8443/a?b=c", Self.secret) == nil)
    }
  }

  @Test("A user has ten webhooks at most, and a webhook ten tests in a minute")
  func bounds() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      var last = 0
      for _ in 0..<10 { last = try await add(queue, user: "ann") }
      await #expect(throws: PostgreSQLError.self) { _ = try await add(queue, user: "ann") }
      for _ in 0..<10 { _ = try await queue.pool.query("SELECT analysis.test_webhook(\(last))") }
      await #expect(throws: PostgreSQLError.self) {
        _ = try await queue.pool.query("SELECT analysis.test_webhook(\(last))")
      }
    }
  }
}
