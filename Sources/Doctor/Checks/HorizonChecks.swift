import Formatting
import PostgreSQL

/// What keeps dead rows from being removed: the queue lives by inserting and deleting, and slows down when its
/// dead rows stay.
struct HorizonChecks: DatabaseCheck {
  let group = "horizon"

  /// Something that holds a view of the past.
  struct Holder: Sendable, Equatable {
    enum Kind: String { case transaction, prepared, slot, standby }

    let kind: Kind
    let name: String
    /// Nil where the server does not say.
    let seconds: Double?
    /// Its age in transactions.
    let transactions: Int64
    /// Whether somebody uses it at this moment.
    let isActive: Bool
  }

  /// From how many transactions on a holder without a time is old: as many as a busy queue makes in minutes.
  static let manyTransactions: Int64 = 200_000

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let rows = try await database.rows("horizon")
    var holders: [Holder] = []
    for row in rows {
      guard let kind = Holder.Kind(rawValue: try row.string(0)) else { continue }
      holders.append(
        Holder(
          kind: kind, name: try row.string(1), seconds: try row.doubleIfPresent(2),
          transactions: try row.int64IfPresent(3) ?? 0, isActive: try row.bool(4)))
    }
    let limit = database.longTransaction.inSeconds
    var findings = holders.compactMap { Self.judge($0, limit) }
    if findings.isEmpty { findings = [.ok("horizon", "nothing holds an old view of the tables")] }
    if try await !database.seesOthers() {
      findings.append(
        .skipped("horizon.transaction", "this role does not see other roles' sessions", AskedDatabase.blind))
    }
    return findings
  }

  static func judge(_ holder: Holder, _ limit: Double) -> Finding? {
    let check = "horizon.\(holder.kind.rawValue)"
    let age = holder.seconds.map { "for \(Moment.age($0))" } ?? "over \(holder.transactions) transactions"
    let message = "\(holder.name) has held an old view of the tables \(age): dead rows stay"
    switch holder.kind {
    case .transaction:
      guard let seconds = holder.seconds, seconds > limit else { return nil }
      return .warning(
        check, message,
        "End it: in its program, or by SELECT pg_terminate_backend(…) with the process's number.")
    case .prepared:
      guard let seconds = holder.seconds, seconds > limit else { return nil }
      return .wrong(
        check, "prepared transaction \(message)",
        "Nobody ends it by itself: COMMIT PREPARED or ROLLBACK PREPARED it.")
    case .slot:
      if !holder.isActive {
        return .wrong(
          check, "replication slot \(message), and nobody reads it",
          "Bring its standby back, or drop it: SELECT pg_drop_replication_slot('…').")
      }
      guard holder.transactions > manyTransactions else { return nil }
      return .warning(check, "replication slot \(message)", "End the long query on its standby.")
    case .standby:
      guard holder.transactions > manyTransactions else { return nil }
      return .warning(
        check, "standby \(message) (hot_standby_feedback)",
        "End the long query there, or turn its hot_standby_feedback off.")
    }
  }
}
