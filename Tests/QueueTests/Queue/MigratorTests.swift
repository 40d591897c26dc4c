import EventLoop
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Queue

@Suite("The migrator")
struct MigratorTests {
  typealias Migration = MigrationSource.Migration
  typealias Group = MigrationSource.FunctionGroup

  static let first = Migration(number: 1, name: "0001_first", text: "CREATE TABLE analysis.first (a int);")
  static let second = Migration(
    number: 2, name: "0002_second",
    text: "INSERT INTO analysis.first VALUES (1); INSERT INTO analysis.first VALUES (2);")
  static let third = Migration(number: 3, name: "0003_third", text: "CREATE TABLE analysis.third (a int);")
  static let fourth = Migration(
    number: 100, name: "0100_fourth", text: "CREATE TABLE analysis.fourth (a int);")
  static let answer = Group(
    name: "answer",
    text: "CREATE OR REPLACE FUNCTION analysis.answer() RETURNS int LANGUAGE sql AS 'SELECT 1';")

  private func source(_ migrations: [Migration], _ functions: [Group] = []) -> MigrationSource {
    MigrationSource(migrations: migrations, functions: functions)
  }

  private func withPool<R>(_ body: (ConnectionPool) async throws -> R) async throws -> R {
    try await withTestDatabase { database in
      let pool = ConnectionPool(database.configuration, on: try EventLoop(name: "test"), size: 2)
      let result = try await body(pool)
      await pool.close()
      return result
    }
  }

  /// The code of the error that a call throws; nil when it throws none.
  private func code(_ body: () async throws -> Void) async throws -> JobQueueError.Code? {
    do {
      try await body()
      return nil
    } catch let error as JobQueueError {
      return error.code
    }
  }

  @Test("applies migrations by number, then functions, and does nothing the second time")
  func order() async throws {
    try await withPool { pool async throws in
      let migrator = Migrator(pool, source: source([Self.fourth, Self.second, Self.first], [Self.answer]))
      var seen: [String] = []
      let done = try await migrator.migrate { seen.append($0.name) }
      #expect(seen == ["prepare", "0001_first", "0002_second", "0100_fourth", "answer"])
      #expect(done.map(\.name) == seen)
      #expect(try await migrator.migrate().isEmpty)
      let status = try await migrator.status()
      #expect(status.version == 100)
      #expect(status.isCurrent)
      #expect(try await pool.query("SELECT count(*) FROM analysis.first").single().int(0) == 2)
    }
  }

  @Test(
    "refuses a database of another encoding before its first statement",
    arguments: ["LATIN1", "SQL_ASCII", "EUC_JP"])
  func encoding(name: String) async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop(name: "test")
      let other = "\(database.name)_\(name.lowercased())"
      let owner = ConnectionPool(database.configuration, on: loop, size: 1)
      try await owner.execute(
        script: "CREATE DATABASE \(other) ENCODING '\(name)' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
      // Without the settings of the tests' databases, which the other one does not have.
      var configuration = ConnectionConfiguration(database.conninfo)
      configuration.keywords["dbname"] = other
      let pool = ConnectionPool(configuration, on: loop, size: 2)
      let error = await #expect(throws: JobQueueError.self) { try await Migrator(pool).migrate() }
      #expect(
        "\(error.map { "\($0)" } ?? "")".contains("createdb --encoding UTF8"), "\(String(describing: error))")
      #expect(try await pool.query("SELECT to_regnamespace('analysis') IS NULL").single().bool(0))
      await pool.close()
      try await owner.execute(script: "DROP DATABASE \(other)")
      await owner.close()
    }
  }

  @Test("does all of it whatever the database has set")
  func settings() async throws {
    try await withPool { pool async throws in
      let name = try await pool.query("SELECT current_database()::text").single().string(0)
      try await pool.execute(script: HostileSettings.script(for: "DATABASE \(name)"))
      let hostile = ConnectionPool(
        ConnectionConfiguration(pool.configuration.conninfo), on: try EventLoop(name: "hostile"), size: 2)
      _ = try await Migrator(hostile).migrate()
      await hostile.close()
      // As a program looks.
      var configuration = pool.configuration
      configuration.settings = ConnectionConfiguration.plainSession
      let plain = ConnectionPool(configuration, on: pool.loop, size: 2)
      #expect(try await Migrator(plain).status().isCurrent)
      #expect(try await Migrator(plain).altered() == [])
      await plain.close()
    }
  }

  @Test("takes the time that it takes, however short the limits of the database are")
  func timeouts() async throws {
    try await withPool { pool async throws in
      let name = try await pool.query("SELECT current_database()::text").single().string(0)
      try await pool.execute(
        script: """
          ALTER DATABASE \(name) SET statement_timeout = '500ms';
          ALTER DATABASE \(name) SET idle_in_transaction_session_timeout = '500ms'
          """)
      let limited = ConnectionPool(
        ConnectionConfiguration(pool.configuration.conninfo), on: try EventLoop(name: "limited"), size: 2)
      let slow = Migration(number: 1, name: "0001_slow", text: "SELECT pg_catalog.pg_sleep(1);")
      #expect(
        try await Migrator(limited, source: source([slow])).migrate().map(\.name) == ["prepare", "0001_slow"])
      await limited.close()
    }
  }

  @Test("gives each function with its owner's rights the same settings, and tells of one that lost them")
  func contract() async throws {
    try await withQueue { queue async throws in
      try await queue.execute("ALTER FUNCTION analysis.list_settings() RESET client_min_messages")
      #expect(try await Migrator(queue.pool).altered() == ["list_settings (settings)"])
      #expect(try await Migrator(queue.pool).migrate().isEmpty)
      #expect(try await Migrator(queue.pool).altered() == [])
    }
  }

  @Test("has no function that has settings compile its statements, which takes longer than to run them")
  func uncompiled() async throws {
    try await withQueue { queue async throws in
      let compiling = try await queue.pool.query(
        """
        SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = 'analysis'::regnamespace AND (p.prosecdef OR p.proconfig IS NOT NULL)
          AND NOT coalesce('jit=off' = ANY (p.proconfig), false)
        """)
      #expect(try compiling.map { try $0.string(0) } == [])
    }
  }

  @Test("shows the SQL that it would run, and changes nothing by it")
  func plan() async throws {
    try await withPool { pool async throws in
      let migrator = Migrator(pool, source: source([Self.first], [Self.answer]))
      let plan = try await migrator.plan()
      #expect(plan.map(\.kind) == [.preparation, .migration(1), .functions])
      #expect(plan.map(\.sql).suffix(2) == [Self.first.text, Self.answer.text])
      #expect(try await pool.query("SELECT to_regnamespace('analysis') IS NULL").single().bool(0))
      #expect(try await migrator.status().pending == ["0001_first"])
    }
  }

  @Test("refuses by name a migration that was edited after it had been applied")
  func edited() async throws {
    try await withPool { pool async throws in
      _ = try await Migrator(pool, source: source([Self.first])).migrate()
      var edited = Self.first
      edited.text += " -- a comment"
      let migrator = Migrator(pool, source: source([edited, Self.second]))
      let error = await #expect(throws: JobQueueError.self) { try await migrator.migrate() }
      #expect(error?.code == .migrationEdited)
      #expect(error?.message.contains("0001_first") == true)
      #expect(try await pool.query("SELECT count(*) FROM analysis.first").single().int(0) == 0)
    }
  }

  @Test("applies a group of functions again when its text changed, and only then")
  func functions() async throws {
    try await withPool { pool async throws in
      _ = try await Migrator(pool, source: source([Self.first], [Self.answer])).migrate()
      var changed = Self.answer
      changed.text = changed.text.replacing("SELECT 1", with: "SELECT 2")
      let done = try await Migrator(pool, source: source([Self.first], [changed])).migrate()
      #expect(done.map(\.name) == ["answer"])
      #expect(try await pool.query("SELECT analysis.answer()").single().int(0) == 2)
    }
  }

  @Test("is safe beside another one: every step is made once, and none fails")
  func twoAtOnce() async throws {
    try await withPool { pool async throws in
      let other = ConnectionPool(pool.configuration, on: try EventLoop(name: "other"), size: 2)
      let migrations = (1...12).map {
        Migration(number: $0, name: "step\($0)", text: "CREATE TABLE analysis.step\($0) (a int);")
      }
      let source = source(migrations, [Self.answer])
      async let one = Migrator(pool, source: source).migrate()
      async let two = Migrator(other, source: source).migrate()
      let made = try await (one + two).map(\.name)
      #expect(made.filter { $0 != "prepare" }.sorted() == (migrations.map(\.name) + ["answer"]).sorted())
      #expect(try await Migrator(pool, source: source).status().isCurrent)
      await other.close()
    }
  }

  /// What a later version would do to things that everybody uses.
  enum Change: CaseIterable {
    case table, view

    var source: MigrationSource {
      let known = MigrationSource.embedded
      switch self {
      case .table:
        let later = Migration(
          number: known.version + 1, name: "later", text: "ALTER TABLE analysis.job ADD COLUMN later int;")
        return MigrationSource(
          migrations: known.migrations + [later], functions: known.functions, finally: known.finally)
      case .view:
        let later = Group(
          name: "zz_later", text: known.functions.filter { $0.name == "60_jobs/views" }.map(\.text).joined())
        return MigrationSource(
          migrations: known.migrations, functions: known.functions + [later], finally: known.finally)
      }
    }
  }

  @Test(
    "behind a transaction that stays open it lets others through, says who is in the way, and goes on when it ends",
    arguments: Change.allCases)
  func behindAnother(change: Change) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let other = ConnectionPool(queue.pool.configuration, on: try EventLoop(name: "other"), size: 2)
      let migrators: [Int32?] = try await other.transaction { first in
        let second = try await other.query("SELECT pg_backend_pid()").single().int32(0)
        return [try await first.query("SELECT pg_backend_pid()").single().int32(0), second]
      }
      let (waits, heard) = AsyncStream<MigrationWait>.makeStream()
      // Who is in the way is looked for meanwhile.
      let migrator = Migrator(
        other, source: change.source, lockTimeout: .seconds(1), pause: { .milliseconds(50) })
      let migrating = try await queue.pool.transaction { holder in
        let own = try await holder.query(
          "SELECT pg_backend_pid(), session_user::text, (SELECT count(*) FROM analysis.job_status)"
        ).single()
        // Only now: a migrator that comes first has nothing to wait for.
        let migrating = Task { try await migrator.migrate({ _ in }) { heard.yield($0) } }
        var rounds = 0
        for await wait in waits {
          #expect(wait.object == (change == .table ? "analysis.job" : "analysis.job_status"))
          // The oldest one first. From the second round on, a submit of this test may be in the way for a moment.
          #expect(try wait.blockers.first?.process == own.int32(0))
          #expect(try wait.blockers.first?.role == own.string(1))
          #expect(rounds > 0 || wait.blockers.count == 1)
          for blocker in wait.blockers.dropFirst() {
            #expect(try blocker.role == own.string(1))
            #expect(!migrators.contains(blocker.process))
          }
          #expect(wait.blockers.allSatisfy { $0.since != nil })
          #expect(try await queue.submit(1).count == 1)
          #expect(try await queue.number("SELECT count(*) FROM analysis.job_status") > 0)
          rounds += 1
          if rounds == 3 { break }
        }
        return migrating
      }
      #expect(try await migrating.value.count == 1)
      #expect(try await Migrator(other, source: change.source).status().isCurrent)
      await other.close()
    }
  }

  @Test("waits for another migrator as long as that takes, and for who holds locks no longer than it may")
  func patience() async throws {
    try await withQueue { queue async throws in
      let other = ConnectionPool(queue.pool.configuration, on: try EventLoop(name: "other"), size: 2)
      let migrator = Migrator(
        other, source: Change.table.source, lockTimeout: .milliseconds(50), pause: { .milliseconds(50) })
      // The migrators' own lock, held for longer than any lock is waited for.
      let migrating = try await queue.pool.transaction { first in
        _ = try await first.query(SQLFiles.required("migrator/lock.sql"))
        let migrating = Task { try await migrator.migrate({ _ in }) { Issue.record("waited: \($0)") } }
        _ = try await first.query("SELECT pg_sleep(0.3)")
        return migrating
      }
      #expect(try await migrating.value.map(\.name) == ["later"])

      try await queue.pool.transaction { holder in
        _ = try await holder.query("SELECT count(*) FROM analysis.job")
        let later = MigrationSource(
          migrations: Change.table.source.migrations + [
            Migration(
              number: Migrator.version + 2, name: "last", text: "ALTER TABLE analysis.job DROP COLUMN later;")
          ])
        // Its third pause would end after its deadline, whatever this machine takes for the rest.
        let pauses = Mutex(0)
        let hurried = Migrator(
          other, source: later, deadline: .seconds(3600), lockTimeout: .milliseconds(50),
          pause: {
            pauses.withLock {
              $0 += 1; return $0 < 3 ? .milliseconds(50) : .seconds(3600)
            }
          })
        let failure = await #expect(throws: JobQueueError.self) { try await hurried.migrate() }
        #expect(pauses.withLock { $0 } == 3)
        #expect(failure?.code == .conflict)
        #expect(failure?.message.contains("last") == true)
      }
      await other.close()
    }
  }

  @Test("leaves nothing of a migration that fails, and names it")
  func failing() async throws {
    try await withPool { pool async throws in
      let bad = Migration(
        number: 2, name: "0002_bad", text: "CREATE TABLE analysis.half (a int); SELECT 1 / 0;")
      let migrator = Migrator(pool, source: source([Self.first, bad]))
      let error = await #expect(throws: JobQueueError.self) { try await migrator.migrate() }
      #expect(error?.message.contains("0002_bad") == true)
      #expect(try await pool.query("SELECT to_regclass('analysis.half') IS NULL").single().bool(0))
      #expect(try await migrator.status().version == 1)
    }
  }

  @Test("reports a migration that was left out between others")
  func gap() async throws {
    try await withPool { pool async throws in
      _ = try await Migrator(pool, source: source([Self.first, Self.third])).migrate()
      let migrator = Migrator(pool, source: source([Self.first, Self.second, Self.third]))
      let found = try await code { _ = try await migrator.plan() }
      #expect(found == .migrationGap)
    }
  }

  @Test("reports migrations that it does not know, newer or not")
  func unknown() async throws {
    try await withPool { pool async throws in
      _ = try await Migrator(pool, source: source([Self.first, Self.second, Self.third])).migrate()
      let older = Migrator(pool, source: source([Self.first, Self.second]))
      let found = try await code { _ = try await older.migrate() }
      #expect(found == .schemaTooNew)
      #expect(try await older.status().unknown == [3])
      let other = Migrator(pool, source: source([Self.first, Self.third]))
      let foundByOther = try await code { _ = try await other.migrate() }
      #expect(foundByOther == .migrationUnknown)
    }
  }

  static let all = [first, second, third, fourth]

  @Test(
    "lets a worker run on its own version, the one before and the one after, and says which side to upgrade",
    arguments: [
      (0, 2, JobQueueError.Code.schemaMissing), (1, 4, .schemaTooOld), (2, 4, .schemaTooOld), (3, 4, nil),
      (4, 4, nil), (4, 3, nil), (4, 2, .schemaTooNew), (1, 1, nil), (2, 1, nil),
    ])
  func compatible(inDatabase: Int, inProgram: Int, refusal: JobQueueError.Code?) async throws {
    try await withPool { pool async throws in
      if inDatabase > 0 {
        _ = try await Migrator(pool, source: source(Array(Self.all.prefix(inDatabase)))).migrate()
      }
      let migrator = Migrator(pool, source: source(Array(Self.all.prefix(inProgram))))
      let found = try await code { _ = try await migrator.requireCompatible() }
      #expect(found == refusal)
    }
  }

  @Test(
    "refuses a schema from before version 1.0, whichever numbers it has, and changes nothing",
    arguments: [[first], [first, second], all])
  func beforeTheBaseline(old: [Migration]) async throws {
    try await withPool { pool async throws in
      _ = try await Migrator(pool, source: source(old)).migrate()
      var first = Self.first
      first.text = "CREATE TABLE analysis.baseline (a int);"
      let migrator = Migrator(
        pool, source: MigrationSource(migrations: [first, Self.second, Self.third], baseline: 2))
      for call in [{ _ = try await migrator.migrate() }, { _ = try await migrator.requireCompatible() }] {
        let error = await #expect(throws: JobQueueError.self) { try await call() }
        #expect(error?.code == .schemaTooOld)
        #expect(
          error?.description
            == "The database's schema is from before version 1.0 and cannot be upgraded. "
            + "Run analysisctl migrate on a new, empty database.")
      }
      #expect(try await pool.query("SELECT to_regclass('analysis.baseline') IS NULL").single().bool(0))
    }
  }

  @Test("lets no worker run on a part of the baseline, though it is the version before")
  func partOfTheBaseline() async throws {
    try await withPool { pool async throws in
      _ = try await Migrator(pool, source: source([Self.first, Self.second])).migrate()
      let whole = [Self.first, Self.second, Self.third]
      let migrator = Migrator(pool, source: MigrationSource(migrations: whole, baseline: 3))
      #expect(try await code { _ = try await migrator.requireCompatible() } == .schemaTooOld)
      _ = try await migrator.migrate()
      let next = Migrator(pool, source: MigrationSource(migrations: whole + [Self.fourth], baseline: 3))
      #expect(try await next.requireCompatible() == 3)
    }
  }

  @Test("brings an empty database to the schema of this program, with the months it needs")
  func embedded() async throws {
    try await withQueue { queue async throws in
      let migrator = Migrator(queue.pool)
      #expect(try await migrator.status().isCurrent)
      #expect(try await migrator.requireCompatible() == Migrator.version)
      #expect(try await queue.number("SELECT count(*) FROM analysis.partition_made") == 5)
    }
  }
}
