import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue

/// What each kind of work does that comes to what a login's open transaction has locked: it passes it by, or waits for a
/// bounded time and says why.
@Suite("What comes to a lock of a login's open transaction passes it by or waits for a bounded time")
struct LockWaitTests {
  @Test(
    "Who submits for a user for whom somebody else's transaction has submitted waits for a bounded time",
    arguments: LockHolder.allCases)
  func sameUser(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      _ = try await queue.create([Ask("ann")])
      // The bound is a setting of the function, and shorter here.
      let bound =
        "SELECT count(*) FROM pg_proc p, unnest(p.proconfig) c WHERE p.proname = 'submit' AND c = 'lock_timeout=10s'"
      #expect(try await queue.number(bound) == 1)
      try await queue.execute("ALTER FUNCTION analysis.submit SET lock_timeout = '100ms'")
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(
            script: "BEGIN; SELECT analysis.submit_image('ann', 'throat', E'\\\\xffd8ff')")
          try await holder.stays(connection, in: queue) { () async throws in
            let error = await #expect(throws: PostgreSQLError.self) { try await queue.create([Ask("ann")]) }
            #expect(error?.sqlState == "55P03")
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
      #expect(try await queue.create([Ask("ann")]).count == 1)
    }
  }

  @Test(
    "Jobs of others that are due are promoted while somebody's transaction holds the place of one user",
    arguments: LockHolder.allCases)
  func promotion(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let later = try await queue.now(plus: 3600)
      var asks: [Ask] = []
      for (index, user) in ["ann", "ann", "bob"].enumerated() {
        asks.append(Ask(user, image: "\(index)", at: later + Double(index)))
      }
      let jobs = try await queue.create(asks)
      let due =
        "UPDATE analysis.scheduled SET run_at = run_at - interval '2 hours' WHERE job_id = ANY ('{%}')"
      try await queue.execute(due.replacing("%", with: "\(jobs[0])"))
      try await withLogin(of: ["worker"], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(script: "BEGIN; SELECT analysis.promote(0::smallint, 10)")
          try await holder.stays(connection, in: queue) { () async throws in
            try await queue.execute(due.replacing("%", with: "\(jobs[1]),\(jobs[2])"))
            #expect(try await queue.promote() == 1)
            #expect(try await queue.numbers("SELECT job_id FROM analysis.ready") == [Int(jobs[2])])
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
      #expect(try await queue.promote() == 2)
      try await queue.expectInvariants()
    }
  }

  @Test(
    "They are promoted too where every due job of a user is held by that transaction, and of many users",
    arguments: LockHolder.allCases)
  func wholePromotion(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      let users = (1...121).map { "user-\($0)" }
      for user in users { try await queue.addUser(user) }
      let later = try await queue.now(plus: 3600)
      let jobs = try await queue.create(users.map { Ask($0, image: $0, at: later) })
      let due =
        "UPDATE analysis.scheduled SET run_at = run_at - interval '2 hours' WHERE job_id = ANY ('{%}')"
      let held = jobs.dropLast().map { "\($0)" }.joined(separator: ",")
      try await queue.execute(due.replacing("%", with: held))
      try await withLogin(of: ["worker"], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(script: "BEGIN; SELECT analysis.promote(0::smallint, 120)")
          try await holder.stays(connection, in: queue) { () async throws in
            try await queue.execute(due.replacing("%", with: "\(jobs[120])"))
            // Of more than a hundred users that are held any hundred are looked at in a call.
            try await eventually {
              _ = try await queue.promote()
              return try await queue.numbers("SELECT job_id FROM analysis.ready") == [Int(jobs[120])]
            }
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
      try await queue.expectInvariants()
    }
  }

  @Test(
    "A claim under the number of a lease that somebody's transaction has taken is refused in time",
    arguments: LockHolder.allCases)
  func leaseNumber(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user", image: "one"), Ask("user", image: "two")])
      try await withLogin(of: ["worker"], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(script: "BEGIN")
          _ = try await queue.claim(1, worker: 2, lanes: [5], on: connection)
          try await holder.stays(connection, in: queue) { () async throws in
            let error = await #expect(throws: PostgreSQLError.self) {
              try await queue.claim(1, worker: 1, lanes: [5])
            }
            #expect(error?.sqlState == "55P03")
            #expect(try await queue.claim(1, worker: 1, lease: 200, lanes: [5]).count == 1)
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
    }
  }

  @Test(
    "Leases that are long overdue are rescued where somebody's transaction holds the time of a promotion",
    arguments: LockHolder.allCases)
  func timeline(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")])
      _ = try await queue.claim(1)
      try await queue.execute(
        """
        UPDATE analysis.gauge SET value = -1 WHERE name = 'timeline';
        UPDATE analysis.lease SET deadline = clock_timestamp() - interval '2 minutes'
        """)
      try await withLogin(of: ["worker"], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(
            script: "BEGIN; SELECT analysis.rescue(0::smallint, 100, 1000)")
          try await holder.stays(connection, in: queue) { () async throws in
            #expect(try await queue.rescue() == [1, 1, 0])
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
    }
  }

  @Test(
    "Waiting for open submits locks nothing, sees those of its moment alone, and gives up after two seconds",
    arguments: LockHolder.allCases)
  func awaiting(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      try await queue.execute("SELECT analysis.await_submits()")
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(
            script: "BEGIN; SELECT analysis.submit_image('ann', 'throat', E'\\\\xffd8ff')")
          try await holder.stays(connection, in: queue) { () async throws in
            let error = await #expect(throws: PostgreSQLError.self) {
              try await queue.execute("SELECT analysis.await_submits()")
            }
            #expect(error?.sqlState == "55P03")
          }
          try await connection.execute(script: "ROLLBACK")
        }
        try await queue.execute("SELECT analysis.await_submits()")
      }
    }
  }

  /// Locks that every login of the server may take: by numbers alone, so that they could be another program's too.
  @Test(
    "A login without a role holds up no migration, no webhook and no wake-up", arguments: LockHolder.allCases)
  func stranger(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      #expect(
        try await queue.texts(
          "SELECT proname::text FROM pg_proc WHERE pronamespace = 'analysis'::regnamespace AND prosrc ~ 'advisory'"
        ) == [])
      try await withLogin(of: [], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(
            script: """
              BEGIN; SELECT pg_advisory_lock(7020110, n) FROM unnest('{1684627055,2003134315,2002873195}'::int[]) n
              """)
          try await holder.stays(connection, in: queue) { () async throws in
            _ = try await Migrator(queue.pool, deadline: patience).migrate()
            #expect(
              try await queue.number(
                """
                SELECT analysis.add_webhook(0::smallint, 'ann', NULL, 'https://r.example.org/', decode(repeat('07', 150), 'hex'),
                  false, false)
                """) > 0)
            #expect(try await queue.pool.query("SELECT analysis.wake_workers(0::smallint)").single().bool(0))
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
    }
  }

  @Test(
    "Who may not put entries into the audit's chain holds up nobody who may",
    arguments: LeakTests.roles.filter { $0 != "worker" }, LockHolder.allCases)
  func chain(role: String, holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      let entry = "SELECT analysis.audit_add('test', 'thing:1')"
      try await queue.execute(entry)
      try await withLogin(of: [role], in: queue) { (login) async throws in
        try await login.withConnection { (connection) async throws in
          try await connection.execute(script: "BEGIN; SELECT analysis.chain_audit(1, false)")
          try await holder.stays(connection, in: queue) { () async throws in
            try await queue.execute(entry)
            #expect(try await queue.number("SELECT analysis.chain_audit(1000, false)") == 2)
          }
          try await connection.execute(script: "ROLLBACK")
        }
      }
    }
  }
}
