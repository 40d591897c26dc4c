import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The audit is one chain")
struct AuditChainTests {
  @Test("Sixteen at once leave one unbroken chain")
  func concurrency() async throws {
    try await withCheckedQueue(connections: 16) { queue in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<16 {
          group.addTask { for number in 0..<20 { try await queue.record("thing:\(client)-\(number)") } }
        }
        try await group.waitForAll()
      }
      let entries = try await queue.entries()
      #expect(entries.map(\.id) == Array(1...320))
      #expect(Set(entries.map(\.object)).count == 320)
      #expect(try await queue.faults() == [])
      #expect(try await queue.number("SELECT count(*) FROM analysis.audit_draft") == 0)
    }
  }

  @Test("A transaction that stays open after an action holds nobody up")
  func openTransaction() async throws {
    try await withCheckedQueue { queue in
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "BEGIN; SELECT analysis.audit_add('test', 'thing:late')")
        try await queue.record("thing:early")
        #expect(try await queue.entries().map(\.object) == ["thing:early"])
        try await connection.execute(script: "COMMIT")
      }
      #expect(try await queue.entries().map(\.object) == ["thing:early", "thing:late"])
      #expect(try await queue.faults() == [])
    }
  }

  @Test("What a client says beside is an object or left out, and no entry that is recorded stops the chain")
  func oddDetail() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await withLogin(of: ["reporter", "worker"], in: queue) { (login) async throws in
        for detail in ["[]", "[1]", "5", "null", "\"x\"", "{\"kept\": 1}"] {
          _ = try await login.query(
            """
            SELECT analysis.open_conditions(24321::smallint, '\(detail)'),
              analysis.audit_worker('worker_start', sha256('1'), '\(detail)')
            """)
        }
        // One that an earlier version let in.
        try await queue.execute(
          "INSERT INTO analysis.audit_draft (at, role, action, object, detail) VALUES (now(), 'x', 'test', 'thing', '[1]')"
        )
        #expect(try await login.query("SELECT analysis.chain_audit(100, true)").single().int32(0) == 13)
      }
      #expect(try await queue.faults() == [])
      #expect(
        try await queue.texts(
          "SELECT detail::text FROM analysis.audit WHERE action = 'worker_start' AND detail IS NOT NULL")
          == ["{\"kept\": 1}"])
      #expect(
        try await queue.texts("SELECT detail::text FROM analysis.audit WHERE action = 'test'") == [
          "{\"said\": [1]}"
        ])
    }
  }

  @Test("An entry's hash is the SHA-256 of the hash before it and of what it says, for ever in the same form")
  func form() async throws {
    try await withCheckedQueue { queue in
      let hash = try await queue.texts(
        """
        SELECT encode(analysis.audit_hash(ROW(
          12, '2026-11-21 10:00:00.25+00', 'owner', 'olga "o"', NULL, '192.0.2.1', 'cancel', 'job:7', 'ä\tb',
          '{"jobs": [7], "b": null}', decode(repeat('ab', 32), 'hex'), decode(repeat('00', 32), 'hex'))::analysis.audit), 'hex')
        """)
      let text = #"""
        [12, 1795255200250000, "owner", "olga \"o\"", null, "192.0.2.1", "cancel", "job:7", "ä\tb", {"b": null, "jobs": [7]}]
        """#
      let digest = SHA256.digest(of: [UInt8](repeating: 0xAB, count: 32) + Array(text.utf8))
      #expect(hash == [Hexadecimal.text(of: digest)])
      // And the same when it is verified.
      let entry = AuditChain.Entry(
        id: 12, at: 1_795_255_200_250_000, role: "owner", user: #"olga "o""#, host: nil, address: "192.0.2.1",
        action: "cancel", object: "job:7", reason: "ä\tb", detail: #"{"b": null, "jobs": [7]}"#,
        previous: [UInt8](repeating: 0xAB, count: 32), hash: [])
      #expect(AuditChain.hash(of: entry) == digest)
    }
  }

  @Test(
    "Entries cannot be changed or removed",
    arguments: [
      "UPDATE analysis.audit SET reason = 'another' WHERE id = 2", "DELETE FROM analysis.audit WHERE id = 2",
      "DELETE FROM analysis.audit", "TRUNCATE analysis.audit", "DELETE FROM analysis.audit_head",
      "TRUNCATE analysis.audit_head",
    ])
  func appendOnly(sql: String) async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      let error = await #expect(throws: PostgreSQLError.self) { try await queue.execute(sql) }
      #expect(error?.sqlState == "55000" && error?.message.contains("never changed or removed") == true)
      #expect(try await queue.faults() == [])
      #expect(try await queue.entries().count == 6)
    }
  }

  @Test("A chain without its head is reported, and what is recorded meanwhile stays to be chained")
  func headless() async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      try await queue.tamper("DELETE FROM analysis.audit_head")
      try await queue.record("thing:7")
      let error = await #expect(throws: JobQueueError.self) { try await AuditLog(queue.pool).chain() }
      #expect(error?.message.contains("lost its head") == true)
      #expect(
        try await queue.faults() == [
          "-: the head of the chain is missing", "-: what is recorded cannot be chained",
        ])
      #expect(try await AuditLog(queue.pool).verify().pending == 1)
    }
  }

  /// What somebody does who may do everything, and what is found of it.
  static let damages: [(sql: String, faults: [String])] = [
    (
      "UPDATE analysis.audit SET reason = 'another' WHERE id = 3",
      ["3: the entry was changed: its hash is not that of what it says"]
    ),
    (
      "UPDATE analysis.audit SET at = at + interval '1 microsecond' WHERE id = 6",
      ["6: the entry was changed: its hash is not that of what it says"]
    ),
    (
      "UPDATE analysis.audit SET object = 'thing:0' WHERE id = 3; UPDATE analysis.audit a SET hash = analysis.audit_hash(a) WHERE id = 3",
      ["4: the entry does not follow the one before it"]
    ),
    ("DELETE FROM analysis.audit WHERE id = 1", ["1: the entry is missing"]),
    ("DELETE FROM analysis.audit WHERE id = 3", ["3: the entry is missing"]),
    ("DELETE FROM analysis.audit WHERE id IN (2, 3, 4)", ["2: the entries 2 to 4 are missing"]),
    (
      "DELETE FROM analysis.audit WHERE id = 6",
      ["6: the entries from here to 6 are missing: the head names them"]
    ),
    ("DELETE FROM analysis.audit", ["1: the entries from here to 6 are missing: the head names them"]),
    (
      "DELETE FROM analysis.audit WHERE id = 3; UPDATE analysis.audit SET id = id - 1 WHERE id > 3",
      [
        "3: the entry does not follow the one before it",
        "3: the entry was changed: its hash is not that of what it says",
        "4: the entry was changed: its hash is not that of what it says",
        "5: the entry was changed: its hash is not that of what it says",
        "6: the entries from here to 6 are missing: the head names them",
      ]
    ),
    (
      """
      INSERT INTO analysis.audit (id, at, role, action, object, previous, hash)
      SELECT 7, now(), 'x', 'test', 'thing:7', hash, hash FROM analysis.audit WHERE id = 6;
      UPDATE analysis.audit a SET hash = analysis.audit_hash(a) WHERE id = 7
      """, ["7: the entry was put in: the head ends at 6"]
    ),
    (
      """
      INSERT INTO analysis.audit (id, at, role, action, object, previous, hash)
      SELECT 0, now(), 'x', 'test', 'thing:0', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex');
      UPDATE analysis.audit a SET hash = analysis.audit_hash(a) WHERE id = 0
      """,
      ["0: the entry was put in: the chain begins at 1", "1: the entry does not follow the one before it"]
    ),
    (
      """
      UPDATE analysis.audit SET id = 100 WHERE id = 2; UPDATE analysis.audit SET id = 2 WHERE id = 3;
      UPDATE analysis.audit SET id = 3 WHERE id = 100
      """,
      [
        "2: the entry does not follow the one before it",
        "2: the entry was changed: its hash is not that of what it says",
        "3: the entry does not follow the one before it",
        "3: the entry was changed: its hash is not that of what it says",
        "4: the entry does not follow the one before it",
      ]
    ),
    (
      "UPDATE analysis.audit_head SET hash = sha256('')", ["6: the head has another hash than the last entry"]
    ),
    (
      "UPDATE analysis.audit_head h SET id = 5, hash = a.hash FROM analysis.audit a WHERE a.id = 5",
      ["6: the entry was put in: the head ends at 5"]
    ),
    (
      """
      UPDATE analysis.audit_head h SET first_id = 3, first_previous = a.previous FROM analysis.audit a WHERE a.id = 3;
      DELETE FROM analysis.audit WHERE id < 3
      """, ["3: no purge recorded that the entries before this one were removed"]
    ),
  ]

  @Test("Whatever is changed, removed, put in or moved is found and named", arguments: damages)
  func found(damage: (sql: String, faults: [String])) async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      #expect(try await queue.faults() == [])
      try await queue.tamper(damage.sql)
      #expect(try await queue.faults() == damage.faults)
    }
  }

  @Test("A chain that was written anew with all its hashes is whole, and only an end kept elsewhere shows it")
  func rewritten() async throws {
    try await withCheckedQueue { queue in
      try await queue.recordSix()
      let kept = try #require(try await AuditLog(queue.pool).verify().end)
      try await queue.record("thing:7")
      #expect(try await queue.faults(expecting: kept) == [])
      try await queue.tamper(
        """
        UPDATE analysis.audit SET reason = 'another' WHERE id = 2;
        DO $$ BEGIN
          FOR i IN 2 .. 7 LOOP
            UPDATE analysis.audit a SET previous = b.hash FROM analysis.audit b WHERE a.id = i AND b.id = i - 1;
            UPDATE analysis.audit a SET hash = analysis.audit_hash(a) WHERE a.id = i;
          END LOOP;
        END $$;
        UPDATE analysis.audit_head h SET hash = a.hash FROM analysis.audit a WHERE a.id = 7
        """)
      #expect(try await queue.faults() == [])
      #expect(
        try await queue.faults(expecting: kept) == ["6: the entry is another than the one that was kept"])
    }
  }

  @Test(
    "Entries that are not chained yet are listed first, without a number, and found by what others are found by"
  )
  func unchained() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("ann")
      let number = try await queue.number("SELECT user_id FROM analysis.account WHERE user_ref = 'ann'")
      try await queue.record("thing:1")
      try await queue.execute("SELECT analysis.chain_audit(10, false)")
      try await queue.execute(
        "SELECT analysis.audit_add('test', 'jobs', jsonb_build_object('users', ARRAY[\(number)], 'jobs', ARRAY[12]))"
      )
      try await queue.record("thing:2")
      try await withLogin(of: ["auditor"], in: queue) { (login) async throws in
        let log = AuditLog(login)
        let all = try await log.list()
        #expect(all.prefix(2).map(\.object) == ["thing:2", "jobs"])
        #expect(all.prefix(2).allSatisfy { $0.id == nil && $0.hash == nil } && all.count > 2)
        #expect(all.dropFirst(2).allSatisfy { $0.id != nil && $0.hash != nil })
        #expect(try await log.list(limit: 1).map(\.object) == ["thing:2"])
        for filter in [
          AuditFilter(user: "ann"), AuditFilter(user: "#\(number)"), AuditFilter(object: "job:12"),
        ] {
          #expect(try await log.list(filter).filter { $0.id == nil }.map(\.object) == ["jobs"], "\(filter)")
        }
        let none = [
          AuditFilter(action: "x"), AuditFilter(by: "x"), AuditFilter(role: "x"), AuditFilter(until: 1),
          AuditFilter(since: try await queue.now(plus: 60)), AuditFilter(before: 9),
        ]
        for filter in none {
          #expect(try await log.list(filter).allSatisfy { $0.id != nil }, "\(filter)")
        }
        #expect(try await log.verify().pending == 2)
      }
    }
  }

  @Test("Drafts cannot be changed or removed; one that is left over is counted, and found")
  func drafts() async throws {
    try await withCheckedQueue { queue in
      try await queue.record("thing:1")
      for sql in [
        "DELETE FROM analysis.audit_draft", "UPDATE analysis.audit_draft SET object = 'x'",
        "TRUNCATE analysis.audit_draft",
      ] {
        let error = await #expect(throws: PostgreSQLError.self, "\(sql)") { try await queue.execute(sql) }
        #expect(error?.sqlState == "55000", "\(sql)")
      }
      try await queue.execute(
        "CREATE OR REPLACE FUNCTION analysis.chain_audit(p_limit int, p_wait boolean) RETURNS int LANGUAGE sql AS 'SELECT 0'"
      )
      let verdict = try await AuditLog(queue.pool).verify()
      #expect(verdict.pending == 1)
      #expect(verdict.faults.map(\.message) == ["not this program's: chain_audit"])
      try await queue.tamper("UPDATE analysis.audit_draft SET at = at - interval '5 days'")
      let words = try await AuditLog(queue.pool).verify().faults.map(\.message)
      #expect(words.count == 2 && words[0].hasPrefix("1 entries are not chained, the oldest for 5 d"))
    }
  }

  @Test(
    "A transaction that is held open after an action, with its constraints checked at once, keeps no worker from starting"
  )
  func heldOpen() async throws {
    try await withCheckedQueue { queue in
      let started = "worker:\(try await queue.number("SELECT analysis.worker_number(sha256('7'))"))"
      try await queue.pool.withConnection { connection in
        try await connection.execute(
          script: "BEGIN; SET CONSTRAINTS ALL IMMEDIATE; SELECT analysis.audit_add('test', 'thing:held')")
        try await queue.pool.withConnection { worker in
          try await worker.execute(script: "SET lock_timeout = '2s'")
          _ = try await worker.query("SELECT analysis.audit_worker('worker_start', sha256('7'), '{}')")
          _ = try await worker.query("SELECT analysis.chain_audit(10, false)")
          try await worker.execute(script: "RESET lock_timeout")
        }
        #expect(try await queue.entries().map(\.object) == [started])
        try await connection.execute(script: "COMMIT")
      }
      #expect(try await queue.entries().map(\.object) == [started, "thing:held"])
      #expect(try await queue.faults() == [])
    }
  }

  @Test(
    "Chaining is a transaction of its own, which cannot be prepared, and what is prepared does not hold it up"
  )
  func ownTransaction() async throws {
    var options = ServerCluster.Options()
    options.settings["max_prepared_transactions"] = "2"
    try await withServerCluster(options) { (cluster) async throws in
      let configuration = ConnectionConfiguration(cluster.conninfo(database: "postgres"))
      let pool = ConnectionPool(configuration, on: try EventLoop(name: "prepared"), size: 2)
      _ = try await Migrator(pool).migrate()
      try await pool.execute(
        script: "BEGIN; SELECT analysis.audit_add('test', 'thing:prepared'); PREPARE TRANSACTION 'held'")
      _ = try await pool.query("SELECT analysis.audit_worker('worker_start', sha256('7'), '{}')")
      let log = AuditLog(pool)
      let number = try await pool.query("SELECT analysis.worker_number(sha256('7'))").single().int64(0)
      #expect(try await log.list().map(\.object) == ["worker:\(number)"])
      let error = await #expect(throws: PostgreSQLError.self) {
        try await pool.transaction { transaction in
          _ = try await transaction.query("SELECT analysis.audit_add('test', 'thing:undone')")
          _ = try await transaction.query("SELECT analysis.chain_audit(10, false)")
        }
      }
      #expect(error?.sqlState == "25001")
      _ = try await pool.query("SELECT analysis.audit_add('test', 'thing:chained')")
      let refused = await #expect(throws: PostgreSQLError.self) {
        try await pool.execute(
          script: "BEGIN; SELECT analysis.chain_audit(10, false); PREPARE TRANSACTION 'never'")
      }
      #expect(refused?.sqlState == "0A000")
      _ = try await pool.query("COMMIT PREPARED 'held'")
      #expect(
        try await Set(log.list().map(\.object)) == ["thing:prepared", "thing:chained", "worker:\(number)"])
      #expect(try await log.verify().faults == [])
      await pool.close()
    }
  }

  @Test("An end of later than the chain, and of nowhere, does not fit")
  func unexpected() async throws {
    try await withCheckedQueue { queue in
      let empty = try #require(try await AuditLog(queue.pool).verify().end)
      #expect(empty.description == "0:" + String(repeating: "0", count: 64))
      try await queue.recordSix()
      #expect(try await queue.faults(expecting: empty) == [])
      let later = AuditMark(id: 9, hash: empty.hash)
      #expect(
        try await queue.faults(expecting: later) == [
          "9: the entry that was kept is not there: the chain ends at 6"
        ])
      let other = AuditMark(id: 4, hash: empty.hash)
      #expect(
        try await queue.faults(expecting: other) == ["4: the entry is another than the one that was kept"])
    }
  }

  @Test(
    "Ends are read as they are printed, and nothing else is",
    arguments: ["", "12", "12:abc", ":", "-1:", "1:2:3"])
  func marks(text: String) {
    let mark = AuditMark(id: 12, hash: String(repeating: "0a", count: 32))
    #expect(AuditMark(mark.description) == mark)
    #expect(AuditMark(text) == nil)
    #expect(AuditMark("x" + mark.description) == nil)
    #expect(AuditMark(mark.description + "0") == nil)
  }
}
