import Endpoint
import HTTPTransfer
import PostgreSQL
import Support

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

/// The certificate by which a worker shows itself to the endpoint.
struct ClientCertificateCheck: Sendable {
  let use: SecretUse
  let environment: [String: String]

  private static let check = "endpoint.client_certificate"
  /// One that is not renewed by then is probably renewed by nobody.
  private static let renewal = 14.0 * 86_400

  /// Adds what it finds, and sets the certificate for the calls of the other checks.
  func look(_ findings: inout [Finding], _ transfer: inout HTTPTransfer.Configuration) {
    switch use {
    case .none: break
    case .managed(let name):
      findings.append(
        .skipped(
          Self.check, "the service manager gives the credential \(name) to the worker alone",
          "Name the file behind it with --endpoint-certificate, as a user who may read it."))
    case .file(let path):
      do throws(SystemError) {
        let certificate = try ClientCertificate.read(path, environment: environment)
        transfer.clientIdentity = ClientIdentity(pem: certificate.pem.bytes)
        findings.append(Self.judge(path, certificate.validity.upperBound, now: .now))
      } catch {
        findings.append(
          .wrong(
            Self.check, "\(error)", "Workers do not start with it: put a certificate with its key there."))
      }
    }
  }

  static func judge(_ path: String, _ end: UnixTime, now: UnixTime) -> Finding {
    let left = end.secondsSince1970 - now.secondsSince1970
    let message = "the certificate in \(path) ends in \(Moment.age(left)), on \(end.rfc3339Seconds)"
    return left < renewal
      ? .warning(check, message, "Renew it and restart the workers, which read it when they start.")
      : .ok(check, message)
  }
}

/// The service account: its file, and one log-in. No analysis is asked for.
struct CredentialChecks: Sendable {
  let use: SecretUse
  let client: ModelClient
  let environment: [String: String]

  private var name: String { client.endpoint.name }

  func findings() async -> [Finding] {
    switch use {
    case .none:
      return [
        .skipped(
          "credentials", "no credentials are named: \(name) is called without an account",
          "Name their file with --credentials if it wants one.")
      ]
    case .managed(let name):
      return [
        .skipped(
          "credentials.file", "the service manager gives the credential \(name) to the worker alone",
          "Name the file behind it with --credentials, as a user who may read it.")
      ]
    case .file(let path): return await findings(path)
    }
  }

  private func findings(_ path: String) async -> [Finding] {
    let credentials: Credentials
    do throws(SystemError) {
      credentials = try Credentials.read(path, environment: environment)
    } catch {
      return [.wrong("credentials.file", "\(error)", Self.advice(error))]
    }
    let file = Finding.ok("credentials.file", "\(path) can be read by its owner alone")
    do throws(CallFailure) {
      let session = try await client.accounts.login(email: credentials.email, password: credentials.password)
      return [file, Self.judge(session, name)]
    } catch {
      return [file, Self.refused(error, name)]
    }
  }

  private static func advice(_ error: SystemError) -> String {
    switch error.code {
    case .notPrivate: "It must belong to the user who runs the worker, with mode 0600."
    case .unreadable: "See that it is there and belongs to the user who runs this."
    default: "It has two lines: email = … and password = …"
    }
  }

  static func judge(_ session: Session, _ name: String) -> Finding {
    let check = "credentials.login"
    guard let user = session.user else {
      return .ok(check, "the log-in at \(name) works; its answer does not describe the account")
    }
    let count = user.analysisCount.map { ", \($0) analyses counted there" } ?? ""
    let message = "the log-in at \(name) works: \(user)\(count)"
    guard user.subscription == .free else { return .ok(check, message) }
    return .warning(
      check, message,
      "A free account ends after a few analyses a month, and the worker then pauses: use a premium one.")
  }

  static func refused(_ failure: CallFailure, _ name: String) -> Finding {
    let check = "credentials.login"
    let message = "the log-in at \(name) failed: \(failure)"
    switch failure.failureClass {
    case .credentials:
      return .wrong(check, message, "Put the right e-mail address and password into the file.")
    case .permission:
      return .wrong(check, message, "Have the account allowed at the endpoint, or check the address.")
    case .overload: return .warning(check, message, "The endpoint is busy, or logs in too often; try later.")
    case .invalidAnswer:
      return .wrong(
        check, message, "The endpoint speaks another dialect (--dialect), or another version of it.")
    default: return .wrong(check, message, "Check whether the endpoint is well and the address is right.")
    }
  }
}
