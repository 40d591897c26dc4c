import Glibc
import PostgreSQL
import TestSupport

/// PostgreSQL's processes.
extension Injector {
  func cause(_ fault: ServerFault, _ event: FaultEvent) async throws {
    switch fault {
    case .backendTerminated:
      let pid = try await backend(event.choice, busy: false)
      try await tell("SELECT pg_terminate_backend($1)", pid)
    case .backendCancelled:
      try await tell("SELECT pg_cancel_backend($1)", try await backend(event.choice, busy: true))
    case .backendFrozen:
      let pid = try await backend(event.choice, busy: false)
      try rig.cluster.signal(pid, SIGSTOP)
      await sleep(event.lasting(.milliseconds(300), .seconds(3)))
      // It may be gone by now, with the server.
      try? rig.cluster.signal(pid, SIGCONT)
    case .backendKilled:
      try await serverTurns.take {
        await crash()
        try rig.cluster.killBackend(try await backend(event.choice, busy: true))
        try await untilItAnswers()
      }
    case .fastRestart: try await serverTurns.take { try await rig.cluster.restart(.fast) }
    case .immediateRestart:
      try await serverTurns.take {
        await crash()
        try await rig.cluster.restart(.immediate)
      }
    case .killed:
      try await serverTurns.take {
        await crash()
        try await rig.cluster.kill(grace: .milliseconds(500))
        try await rig.cluster.start()
      }
    case .tableLocked: try await lockTable(event)
    case .deadlock: try await deadlock()
    case .snapshotHeld: try await holdSnapshot(for: event.lasting(.seconds(2), .seconds(12)))
    case .statementTimeout: try await limit("statement_timeout", to: "3ms", of: Rig.workerRole, event) {}
    case .lockTimeout:
      try await limit("lock_timeout", to: "5ms", of: Rig.workerRole, event) { try await lockTable(event) }
    case .idleTimeout:
      try await limit("idle_in_transaction_session_timeout", to: "1ms", of: Rig.backendRole, event) {}
    case .connectionsExhausted:
      try await exhaustConnections(for: event.lasting(.milliseconds(300), .seconds(2)))
    }
  }

  /// Takes note that the server loses what it has not written.
  private func crash() async {
    rig.tally.crash(held: await fleet.mayHold)
  }

  /// One of the clients' backends.
  ///
  /// - Parameter busy: Rather one that is doing something.
  private func backend(_ choice: UInt64, busy: Bool) async throws -> Int32 {
    let rows = try await rig.owner.query(
      """
      SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'torture-owner'
      ORDER BY $1 AND state = 'active' DESC, pid
      """, [.bool(busy)], deadline: .seconds(5))
    guard !rows.isEmpty else { throw Missed("nobody is connected") }
    let place = busy ? choice % UInt64(min(rows.count, 3)) : choice % UInt64(rows.count)
    return try rows[Int(place)].int32(0)
  }

  private func tell(_ sql: String, _ pid: Int32) async throws {
    guard try await rig.owner.query(sql, [.int32(pid)], deadline: .seconds(5)).single().bool(0) else {
      throw Missed("the backend had gone")
    }
  }

  private func untilItAnswers() async throws {
    let patience = ContinuousClock.now + .seconds(60)
    while true {
      do {
        _ = try await rig.owner.query("SELECT 1", deadline: .seconds(2))
        return
      } catch {
        guard ContinuousClock.now < patience else { throw error }
        await sleep(.milliseconds(50))
      }
    }
  }
}
