import CommandLineTool
import FoundationEssentials
import PostgreSQL
import Queue
import Support

/// When something ends by itself, as it is given on the command line.
enum Expiry: Sendable, Equatable {
  /// So long from now, by the server's clock.
  case after(Duration)
  /// At the end of a day, by UTC.
  case endOf(CivilDate)
  /// At a moment, in seconds since 1970.
  case at(Double)

  /// The moment, in seconds since 1970.
  func moment(_ database: ConnectionPool) async throws -> Double {
    switch self {
    case .after(let time):
      return try await Statement.serverTime.run(on: database).secondsSince1970 + time / .seconds(1)
    case .endOf(let day): return Double((day.number + 1) * 86_400)
    case .at(let moment): return moment
    }
  }
}

extension ValueFormat where Value == Expiry {
  /// `90d`, `2026-12-31` or `2026-12-31T08:00:00Z`.
  static var expiry: Self {
    ValueFormat(
      name: "WHEN",
      parse: { (given: String) throws(ValueError) -> Expiry in
        if let day = CivilDate(given) { return .endOf(day) }
        if given.contains("T") {
          return .at(try ValueFormat<Date>.time.parse(given).timeIntervalSince1970)
        }
        do throws(ValueError) {
          return .after(
            try ValueFormat<Duration>.duration(in: .seconds(1) ... .seconds(3660 * 86_400)).parse(given))
        } catch {
          throw ValueError(
            "is neither a length of time such as 90d, nor a day such as 2026-12-31, nor a time such as "
              + "2026-12-31T08:00:00Z")
        }
      },
      text: { expiry in
        switch expiry {
        case .after(let time): ValueFormat<Duration>.duration.text(time)
        case .endOf(let day): day.description
        case .at(let moment): Moment.exact(moment) ?? ""
        }
      })
  }
}
