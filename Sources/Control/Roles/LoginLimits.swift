import Queue

/// How long the statements and transactions of a login may last. These limits are against accidents, such as a
/// terminal that is left with a transaction open: a login may lift its own.
struct LoginLimits: Sendable, Equatable {
  /// A statement; nil: without a limit, here and below.
  let statement: Duration?
  /// The wait for a lock.
  let lock: Duration?
  /// A transaction in which nothing is done.
  let idleInTransaction: Duration?

  /// The limits of a role: far above what the programs need. `docs/access.md` shows the same table.
  static func of(_ role: DatabaseRole) -> LoginLimits {
    switch role {
    // A migration may take long, and sets its own limits.
    case .owner: LoginLimits(statement: nil, lock: nil, idleInTransaction: nil)
    case .submitter:
      LoginLimits(statement: .seconds(300), lock: .seconds(60), idleInTransaction: .seconds(300))
    case .worker, .gateway:
      LoginLimits(statement: .seconds(120), lock: .seconds(30), idleInTransaction: .seconds(60))
    case .reporter, .clinician, .auditor, .privacy, .retention:
      LoginLimits(statement: .seconds(3600), lock: .seconds(60), idleInTransaction: .seconds(600))
    case .operator, .administrator:
      LoginLimits(statement: .seconds(900), lock: .seconds(60), idleInTransaction: .seconds(120))
    }
  }

  /// The limits of a login with these roles: of each the longest.
  static func of(_ roles: some Sequence<DatabaseRole>) -> LoginLimits {
    let all = roles.map { of($0) }
    func longest(_ limits: [Duration?]) -> Duration? {
      limits.contains(nil) ? nil : limits.compactMap { $0 }.max()
    }
    return LoginLimits(
      statement: longest(all.map(\.statement)), lock: longest(all.map(\.lock)),
      idleInTransaction: longest(all.map(\.idleInTransaction)))
  }

  /// The server's settings, in milliseconds; 0: without a limit.
  var settings: [(name: String, milliseconds: Int64)] {
    [
      ("statement_timeout", statement), ("lock_timeout", lock),
      ("idle_in_transaction_session_timeout", idleInTransaction),
    ].map { ($0.0, ($0.1?.components.seconds ?? 0) * 1000) }
  }
}
