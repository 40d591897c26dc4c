import PostgreSQL

/// Whether something stands between this program and the server that hands sessions from one client to another.
struct PoolerCheck: DatabaseCheck {
  let group = "pooler"

  /// How often two connections are asked in turn: a pooler that is busy with others may answer once or twice
  /// by chance as a server would.
  private static let rounds = 5

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    [Self.judge(try await look(database.pool), database.worker)]
  }

  /// What two connections that are both open saw.
  struct Seen: Sendable, Equatable {
    /// The process that the server named when each connection was made.
    var announced: [Int32]
    /// The processes that answered each, in turn.
    var answered: [[Int32]]
  }

  private func look(_ pool: ConnectionPool) async throws -> Seen {
    let first = try await Connection.connect(pool.configuration, on: pool.loop)
    do {
      let second = try await Connection.connect(pool.configuration, on: pool.loop)
      do {
        var seen = Seen(announced: [first.backendPID, second.backendPID], answered: [[], []])
        for _ in 0..<Self.rounds {
          for (index, connection) in [first, second].enumerated() {
            seen.answered[index].append(
              try await connection.query(
                "SELECT pg_catalog.pg_backend_pid()", deadline: AskedDatabase.deadline
              ).single()
                .int32(0))
          }
        }
        await second.close()
        await first.close()
        return seen
      } catch {
        await second.close()
        throw error
      }
    } catch {
      await first.close()
      throw error
    }
  }

  static func judge(_ seen: Seen, _ worker: WorkerUse?) -> Finding {
    let check = "pooler.mode"
    let processes = seen.answered.map(Set.init)
    let isShared = processes.contains { $0.count > 1 } || !processes[0].isDisjoint(with: processes[1])
    guard isShared else {
      let isPooled = zip(seen.announced, seen.answered).contains { !$1.contains($0) }
      return .ok(
        check,
        isPooled
          ? "a pooler that gives each client a session of its own" : "no pooler: the server answers itself")
    }
    let message = "a pooler in transaction mode: sessions pass from client to client"
    switch worker {
    case .some(let worker) where worker.listens:
      return .warning(
        check, "\(message); \(worker.path) has the worker listen for wake-ups, which it will not hear",
        "Write listen = false there (--no-listen); jobs are then found by polling, within a second.")
    case .some: return .ok(check, "\(message); the worker does not listen, which is right")
    case nil:
      return .warning(
        check, "\(message); a worker that listens hears no wake-ups through it",
        "Start workers with --no-listen, or let them reach the server itself.")
    }
  }
}
