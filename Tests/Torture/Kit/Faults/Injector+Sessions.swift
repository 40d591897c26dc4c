import PostgreSQL
import TestSupport

/// Locks, snapshots and limits.
extension Injector {
  private static let hotTables = ["ready", "lease", "result", "usage", "job", "scheduled"]

  /// Locks a table against everybody for a while.
  func lockTable(_ event: FaultEvent) async throws {
    let table = Self.hotTables[Int(event.choice % UInt64(Self.hotTables.count))]
    try await rig.owner.transaction(deadline: .seconds(20)) { transaction in
      _ = try await transaction.query("SET LOCAL lock_timeout = '4s'")
      _ = try await transaction.query("LOCK TABLE analysis.\(table) IN ACCESS EXCLUSIVE MODE")
      await sleep(event.lasting(.milliseconds(150), .milliseconds(1200)))
    }
  }

  /// Two transactions lock the rows of two users in opposite order; who submits for them is drawn in.
  func deadlock() async throws {
    let rows = try await rig.owner.query(
      "SELECT user_id FROM analysis.usage GROUP BY user_id ORDER BY sum(used) DESC LIMIT 2",
      deadline: .seconds(5))
    guard rows.count == 2 else { throw Missed("nobody has used anything") }
    let users = try rows.map { try $0.int64(0) }
    async let one = locks(users)
    async let other = locks(users.reversed())
    let wereEnded = await [one, other]
    guard wereEnded.contains(true) else { throw Missed("one of the two was through before") }
  }

  /// Locks what users have used, one after the other; true when the server ended it for a deadlock.
  private func locks(_ users: [Int64]) async -> Bool {
    do {
      try await rig.owner.transaction(deadline: .seconds(20)) { transaction in
        for user in users {
          _ = try await transaction.query(
            "SELECT 1 FROM analysis.usage WHERE user_id = $1 ORDER BY period FOR UPDATE", [.int64(user)])
          await sleep(.milliseconds(100))
        }
      }
      return false
    } catch {
      return (error as? PostgreSQLError)?.sqlState == "40P01"
    }
  }

  /// Holds a snapshot while everything goes on.
  func holdSnapshot(for time: Duration) async throws {
    try await rig.owner.transaction(isolation: .repeatableRead, readOnly: true, deadline: .seconds(30)) {
      _ = try await $0.query("SELECT count(*) FROM analysis.setting")
      await sleep(time)
      _ = try await $0.query("SELECT count(*) FROM analysis.setting")
    }
  }

  /// Gives a role a limit for a moment; its sessions are ended, for only new ones have it.
  func limit(
    _ setting: String, to value: String, of role: String, _ event: FaultEvent,
    meanwhile: () async throws -> Void
  ) async throws {
    try await limitTurns.take {
      let outcome: Result<Void, any Error>
      do {
        _ = try await rig.owner.query(
          "ALTER ROLE \(role) SET \(setting) = '\(value)'", deadline: .seconds(10))
        try await endSessions(of: role)
        try await meanwhile()
        await sleep(event.lasting(.milliseconds(400), .milliseconds(1500)))
        outcome = .success(())
      } catch {
        outcome = .failure(error)
      }
      try await lift(setting, of: role)
      try outcome.get()
    }
  }

  /// Takes a limit back, however long the server is away.
  private func lift(_ setting: String, of role: String) async throws {
    let patience = ContinuousClock.now + .seconds(90)
    while true {
      do {
        _ = try await rig.owner.query("ALTER ROLE \(role) RESET \(setting)", deadline: .seconds(5))
        return try await endSessions(of: role)
      } catch {
        guard ContinuousClock.now < patience else { throw error }
        await sleep(.milliseconds(100))
      }
    }
  }

  private func endSessions(of role: String) async throws {
    _ = try await rig.owner.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [.text(role)],
      deadline: .seconds(10))
  }

  /// Takes all connections that there are for ordinary roles.
  func exhaustConnections(for time: Duration) async throws {
    let configuration = ConnectionConfiguration(
      rig.conninfo(0, role: Rig.backendRole), applicationName: "torture-crowd", connectTimeout: .seconds(3))
    var taken: [Connection] = []
    var wasFull = false
    while !wasFull, taken.count < 200 {
      do {
        taken.append(try await Connection.connect(configuration, on: rig.loop))
      } catch {
        wasFull = error.sqlState == "53300"
        if !wasFull { break }
      }
    }
    if wasFull { await sleep(time) }
    for connection in taken { await connection.close() }
    guard wasFull else { throw TestSupportError("the server was away before all its connections were taken") }
  }
}
