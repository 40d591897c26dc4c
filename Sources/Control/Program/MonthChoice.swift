import CommandLineTool
import PostgreSQL
import Support

/// A month as it is asked for.
enum MonthChoice: Sendable, Equatable {
  /// The running one by the server's clock, in the installation's zone.
  case current
  /// The one before the running one.
  case previous
  /// One by its name.
  case month(Period)
}

extension ValueFormat where Value == MonthChoice {
  /// `2026-10`, `current` or `previous`.
  static var monthChoice: Self {
    ValueFormat(
      name: "MONTH", completion: .words(["current", "previous"]),
      parse: { (given: String) throws(ValueError) -> MonthChoice in
        switch given {
        case "current": return .current
        case "previous": return .previous
        default:
          guard let period = Period(given) else {
            throw ValueError("is not a month; write YYYY-MM, for example 2026-10, or current or previous")
          }
          return .month(period)
        }
      },
      text: { choice in
        switch choice {
        case .current: "current"
        case .previous: "previous"
        case .month(let period): period.description
        }
      })
  }
}

extension ValueFormat where Value == JobID {
  /// A job's number.
  static var jobID: Self {
    ValueFormat(
      name: "JOB",
      read: { JobID($0) },
      else: "is not a job's number",
      text: \.description)
  }
}

extension MonthChoice {
  /// Which month is meant: by the server's clock, in the installation's zone.
  func period(_ database: ConnectionPool) async throws -> Period {
    switch self {
    case .month(let period): return period
    case .current: return try await Reporter(database).currentMonth()
    case .previous:
      let current = try await Reporter(database).currentMonth()
      guard let previous = current.previous else {
        throw CommandFailure(.usage, "there is no month before \(current)")
      }
      return previous
    }
  }
}
