import PostgreSQL

/// Whether there are connections enough.
struct ConnectionChecks: DatabaseCheck {
  let group = "connections"

  /// How many a worker holds.
  static let ofWorker = 6

  /// A bound and what is used of it.
  struct Use: Sendable, Equatable {
    /// What is bounded, for instance `role worker`.
    let what: String
    let used: Int
    let limit: Int
    /// How the bound is raised.
    let remedy: String
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("connections").single()
    let role = try row.string(7)
    var uses = [
      Use(
        what: "the server", used: try row.int(2), limit: try row.int(0) - (try row.int(1)),
        remedy: "Raise max_connections, or put a pooler before the server.")
    ]
    let ofDatabase = try row.int(3)
    if ofDatabase >= 0 {
      uses.append(
        Use(
          what: "this database", used: try row.int(4), limit: ofDatabase,
          remedy: "Raise it: ALTER DATABASE … CONNECTION LIMIT …"))
    }
    let ofRole = try row.int(5)
    if ofRole >= 0 {
      uses.append(
        Use(
          what: "role \(role)", used: try row.int(6), limit: ofRole,
          remedy: "Raise it: ALTER ROLE … CONNECTION LIMIT …"))
    }
    return uses.map(Self.judge)
  }

  static func judge(_ use: Use) -> Finding {
    let check = "connections"
    let message = "\(use.used) of the \(use.limit) connections of \(use.what) are in use"
    if use.limit < ofWorker {
      return .wrong(check, "\(message); one worker alone needs \(ofWorker)", use.remedy)
    }
    if use.limit - use.used < ofWorker {
      return .warning(
        check, "\(message): too few are left for one more worker, which needs \(ofWorker)", use.remedy)
    }
    guard use.used * 5 <= use.limit * 4 else {
      return .warning(check, "\(message): more than four in five", use.remedy)
    }
    return .ok(check, message)
  }
}

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
              try await connection.query(.serverProcess, deadline: AskedDatabase.deadline).single().int32(0))
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
