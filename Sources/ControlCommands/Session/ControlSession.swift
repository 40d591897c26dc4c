import Administration
import CommandLineTool
import EventLoop
import Formatting
import JobQueue
import Logging
import PostgreSQL
import System

/// What a command works with once it has understood its command line.
struct ControlSession: Sendable {
  let database: ConnectionPool
  let view: View
  let interruption: Interruption
  /// Who runs the command, and where.
  let owner: ProcessOwner

  var console: Console { view.console }

  /// Who acts, as the audit records it.
  func actor(_ reason: String? = nil) -> AuditActor {
    AuditActor(user: owner.user, host: owner.host, reason: reason)
  }
}

/// What a command needs of the database's schema.
enum SchemaNeed {
  /// One that this program can work with.
  case compatible
  /// None: the command makes it.
  case none
  /// None, and no server either: the command tells what it finds, at once.
  case nothing
}

extension Context {
  /// Runs a command's body on an event loop of its own, with connections to the database, and closes them.
  ///
  /// The first Ctrl-C or SIGTERM cancels the body, unless it looks for interruptions itself; a second one
  /// cancels it in any case. What was under way at the server is then rolled back.
  ///
  /// - Parameter database: Where the database is, when not where the common options say.
  func withSession(
    _ dependencies: Dependencies, schema: SchemaNeed = .compatible,
    database named: ConnectionConfiguration? = nil,
    _ body: @escaping @Sendable (ControlSession) async throws -> ExitCode
  ) async throws -> ExitCode {
    let view = View(console: console, isJSON: try values[CommonOptions.json])
    let log = Log.standardError(level: try values[CommonOptions.logLevel], environment: environment)
    var configuration = try named ?? ConnectionConfiguration(values[CommonOptions.database])
    configuration.serverProof = try values[CommonOptions.databaseProof]
    configuration.applicationName = "analysisctl"
    configuration.searchPath = ConnectionConfiguration.catalogOnly
    configuration.onNotice = { log.serverSaid($0.message, severity: $0.severity) }
    let loop = try EventLoop(name: "analysisctl")
    defer { loop.shutdown() }
    let database = ConnectionPool(configuration, on: loop, size: Self.connections)
    let interruption = Interruption()
    let session = ControlSession(
      database: database, view: view, interruption: interruption, owner: dependencies.owner())
    let first = FirstConnection(
      on: loop, patience: try values[CommonOptions.connectTimeout], say: console.say)
    let signals = try dependencies.interruptions()
    let outcome = await interruption.run(on: loop, signals) {
      try await first.made {
        switch schema {
        case .compatible:
          do {
            _ = try await Migrator(database).requireCompatible()
          } catch {
            throw await RoleRefusal.named(error, command: path.dropFirst().joined(separator: " "), database)
          }
        case .none: try await database.withConnection { _ in }
        case .nothing: break
        }
      }
      let code: ExitCode
      do {
        code = try await body(session)
      } catch {
        throw await RoleRefusal.named(error, command: path.dropFirst().joined(separator: " "), database)
      }
      // What the command recorded; where it could not be chained, a worker or the next command does it.
      if schema == .compatible { try? await AuditLog(database).chain(deadline: .seconds(5)) }
      return code
    }
    await database.close()
    return try outcome.get()
  }

  /// One for what a command asks, one for what it asks meanwhile.
  private static let connections = 2
}
