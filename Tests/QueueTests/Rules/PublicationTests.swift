import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("Beside a publication of all tables")
struct PublicationTests {
  @Test("every table has a key or another identity of its rows, those of months that are made later too")
  func identities() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        "SELECT analysis.ensure_partitions((analysis.period_of(now(), 'UTC') + 9)::smallint, (analysis.period_of(now(), 'UTC') + 9)::smallint)"
      )
      let without = try await queue.texts(
        """
        SELECT c.relname::text FROM pg_class c
        WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p') AND c.relreplident <> 'f'
          AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid
            AND (i.indisprimary AND c.relreplident = 'd' OR i.indisreplident))
        ORDER BY 1
        """)
      #expect(without == [])
    }
  }

  @Test("what a cancellation gave up is taken back, an attempt is removed, and a person is erased")
  func changes() async throws {
    try await withQueue { (queue) async throws in
      // A server without logical replication warns of the publication; it checks identities all the same.
      try await queue.pool.execute(
        script: "SET client_min_messages = error; CREATE PUBLICATION everything_else FOR ALL TABLES")
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let jobs = try await queue.create([
        Ask("ann", image: "1"), Ask("ann", image: "2"), Ask("ann", image: "3"),
      ])
      _ = try await queue.cancel(jobs)
      try await queue.execute("SELECT analysis.uncancel(0::smallint, array[\(jobs[0])])")
      _ = try await queue.create([Ask("ann", image: "4")])
      let claimed = try await queue.claim(1)[0]
      _ = try await queue.fail([claimed.job], leases: [claimed.lease], delay: nil)
      try await queue.execute(
        "SELECT analysis.apply_refunds(0::smallint, 100), analysis.erase_user(0::smallint, 'ann', NULL, true)"
      )
      try await queue.expectInvariants()
    }
  }
}
