import PostgreSQL
import Support

/// Whether months are closed when they can be: until then nobody can be billed by them.
struct MonthCheck: DatabaseCheck {
  let group = "months"
  let needsSchema = true

  /// How long a month may wait: timer and cron close every morning.
  private static let patience = 86_400.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    [Self.judge(try await MonthDirectory(database.pool).list(), now: UnixTime.now.secondsSince1970)]
  }

  static func judge(_ months: [BilledMonth], now: Double) -> Finding {
    let waiting = months.filter { $0.state == .due && now - $0.dueAt > patience }
    guard let first = waiting.first else { return .ok("months", "no month waits to be closed") }
    let since = "for \(Moment.age(now - first.dueAt))"
    guard waiting.count > 1 else {
      return .warning(
        "months", "\(first.period) could be closed \(since), and nobody has closed it",
        "Close it: \(BilledMonth.commandToClose(first.period)). Bills and purge wait for it.")
    }
    return .warning(
      "months",
      "\(waiting.count) months could be closed, \(first.period) \(since), and nobody has closed them",
      "Close them, the oldest first: \(BilledMonth.commandToCloseAll). Bills and purge wait for it.")
  }
}
