import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control

@Suite("What the metrics of the queue show beside its status")
struct QueueTotalsTests {
  /// Two clinics with a user each; the one of the south was refused three times this month.
  private func withRefusals(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withQueue { queue in
      try await queue.addUser("n1")
      try await queue.addUser("s1")
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south');
        SELECT analysis.assign_clinic(0::smallint, 'n1', 'north'), analysis.assign_clinic(0::smallint, 's1', 'south');
        INSERT INTO analysis.usage (shard, period, user_id, refused)
        SELECT a.shard, analysis.period_of(now(), 'UTC') - m, a.user_id, 3 + m
        FROM analysis.account a CROSS JOIN generate_series(0, 1) m WHERE a.user_ref = 's1';
        SELECT analysis.add_webhook(0::smallint, u, NULL, 'https://r.example.org/', decode(repeat('07', 150), 'hex'),
          false, false) FROM unnest('{n1,s1}'::text[]) u;
        SELECT analysis.add_webhook(NULL, NULL, 'south', 'https://r.example.org/', decode(repeat('07', 150), 'hex'),
          false, false);
        UPDATE analysis.webhook SET off_at = now(), off_reason = 'gone'
        WHERE clinic_id IS NOT NULL OR user_id = (SELECT a.user_id FROM analysis.account a WHERE a.user_ref = 's1')
        """)
      try await body(queue)
    }
  }

  @Test(
    "counts refusals of the present month, dead jobs by class and webhooks that are off; names limit and last statement"
  )
  func totals() async throws {
    try await withRefusals { queue in
      _ = try await queue.deadJob("n1", image: "dies")
      let before = try await QueueTotals.read(queue.pool)
      #expect(before.refusedByMonthLimit == 3 && before.webhooksOff == 2)
      #expect(before.dead.values.reduce(0, +) == 1)
      #expect(before.lastStatementAt == nil && before.databaseLimit == nil)
      try await queue.execute(
        """
        INSERT INTO analysis.statement VALUES ('usage', 24300, '2026-01-02 03:04:05+00'), ('usage', 24299, '2025-12-01+00');
        UPDATE analysis.setting SET value = '1000000' WHERE name = 'max_database_bytes'
        """)
      let after = try await QueueTotals.read(queue.pool)
      #expect(after.lastStatementAt == 1_767_323_045 && after.databaseLimit == 1_000_000)
    }
  }

  @Test("shows a login that sees one clinic nothing of another")
  func clinics() async throws {
    try await withRefusals { queue in
      try await withLogin(of: ["operator"], in: queue) { login in
        let all = try await QueueTotals.read(login)
        #expect(all.refusedByMonthLimit == 3 && all.webhooksOff == 2)
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{north}')")
        let seen = try await QueueTotals.read(login)
        #expect(seen.refusedByMonthLimit == 0 && seen.webhooksOff == 0)
      }
    }
  }
}
