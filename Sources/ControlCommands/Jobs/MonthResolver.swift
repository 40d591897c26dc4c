import Administration
import AnalysisCore
import CommandLineTool
import JobQueue
import PostgreSQL
import Reports

/// Finds out which month is meant by `current` and `previous`: the server's clock decides, in the
/// installation's zone.
struct MonthResolver: Sendable {
  let database: ConnectionPool

  func period(_ choice: MonthChoice) async throws -> Period {
    switch choice {
    case .month(let period): return period
    case .current: return try await Reporter(database).currentMonth()
    case .previous:
      let current = try await Reporter(database).currentMonth()
      guard let previous = current.previous else {
        throw ControlError(.usage, "there is no month before \(current)")
      }
      return previous
    }
  }

  func filter(_ selection: JobSelection) async throws -> JobFilter {
    var month: Period?
    if let choice = selection.month { month = try await period(choice) }
    return JobFilter(user: selection.user, state: selection.state, month: month, kind: selection.kind)
  }
}
