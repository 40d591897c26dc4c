internal import Clibpq

/// Having the server keep the statements that come again and again.
extension Connection {
  /// The name under which the server has a statement; nil when it is to be sent whole. Asks the server, where need be,
  /// before the call's own statement is sent.
  func preparedName(
    of statement: SQLStatement, _ operation: Operation
  ) async throws(PostgreSQLError) -> String? {
    guard statement.isRepeated, configuration.keepsStatements else { return nil }
    let key = PreparedStatements.Key(statement)
    switch prepared.use(key) {
    case .once: return nil
    case .kept(let name): return name
    case .due(let name):
      // An error would undo the transaction that a caller has open.
      guard wire.isIdle else { return nil }
      if prepared.ownsSession == nil {
        let rows = try await aside(operation) {
          self.wire.send(.serverProcess)
        }
        let process = try? Rows(rows).single().int32(0)
        prepared.ownsSession = process == backendPID
        if process != backendPID { return nil }
      }
      do throws(PostgreSQLError) {
        _ = try await aside(operation) { self.wire.prepare(statement, as: name) }
      } catch {
        // Sent whole, the statement shows its fault itself.
        guard error.code == .server else { throw error }
        return nil
      }
      prepared.keep(key, name)
      return name
    }
  }

  /// Asks the server something on the call's behalf that changes nothing; the call is as if it had not begun.
  private func aside(
    _ operation: Operation, _ request: () -> Bool
  ) async throws(PostgreSQLError) -> ServerResult {
    defer {
      operation.failure = nil
      operation.summary = nil
      operation.isSent = false
    }
    try send(operation, request)
    return try await wholeResult(operation)
  }

  /// Sends a statement, by its name where it has one.
  func send(_ statement: SQLStatement, named name: String?) -> Bool {
    if let name { wire.send(statement, named: name) } else { wire.send(statement) }
  }
}

/// What a connection knows of the statements that its server keeps parsed; used inside the actor.
///
/// Named statements belong to a session. Behind a pooler the next call may meet another session, so they are used
/// only where the session is known to be the connection's own: the server's process is then the one that was named
/// when the connection was made, while a pooler names one of its own.
struct PreparedStatements {
  /// A text, and the types with which it is called.
  struct Key: Hashable {
    let sql: String
    let types: [UInt32]

    init(_ statement: SQLStatement) {
      sql = statement.sql
      types = statement.parameters.map(\.oid)
    }
  }

  enum Use: Equatable {
    /// Under this name the server has it.
    case kept(String)
    /// It is worth to be kept, under this name.
    case due(String)
    case once
  }

  /// What is made for the third time will be made again.
  private static let usesBefore = 2
  /// A bound on what is kept, here and by the server: the queue's own statements are fewer.
  private static let limit = 64

  /// Whether the session is the connection's own; nil before anybody has asked.
  var ownsSession: Bool?
  private var uses: [Key: Int] = [:]
  private var names: [Key: String] = [:]

  /// How a statement is to be sent, which counts as a use of it.
  mutating func use(_ key: Key) -> Use {
    guard ownsSession != false else { return .once }
    if let name = names[key] { return .kept(name) }
    guard names.count < Self.limit, uses.count < 2 * Self.limit || uses[key] != nil else { return .once }
    let count = uses[key, default: 0] + 1
    uses[key] = count
    return count > Self.usesBefore ? .due("s\(names.count + 1)") : .once
  }

  mutating func keep(_ key: Key, _ name: String) {
    names[key] = name
    uses[key] = nil
  }

  /// Uses no name any more on this connection.
  mutating func giveUp() {
    ownsSession = false
    names = [:]
    uses = [:]
  }
}

extension PostgreSQLError {
  /// Whether it speaks of the kept form of a statement: the server has none of that name, or what the statement
  /// answers has changed since. Nothing was run.
  var isOfPreparedStatement: Bool { sqlState == "26000" || sqlState == "0A000" }
}
