package import PostgreSQL
import Support

/// When something ends by itself, as a person or an app says it: `90d`, `2026-12-31` or `2026-12-31T08:00:00Z`.
package struct Expiry: Sendable, Equatable {
  private enum End: Equatable {
    /// So long from now, by the server's clock.
    case after(Duration)
    /// At a moment, in seconds since 1970.
    case at(Double)
  }

  private let end: End
  /// As it was given.
  package let written: String

  /// Reads one; nil for anything else. A day ends at its midnight by UTC; a length is from a second to ten years.
  package init?(_ text: String) {
    if let day = CivilDate(text) {
      end = .at(Double((day.number + 1) * 86_400))
    } else if let time = WrittenTime(text) {
      guard time.date.year >= 1970, let moment = time.secondsSince1970 else { return nil }
      end = .at(moment)
    } else {
      guard let time = Duration(written: text), (.seconds(1) ... .seconds(3660 * 86_400)).contains(time)
      else {
        return nil
      }
      end = .after(time)
    }
    written = text
  }

  /// The moment, in seconds since 1970.
  package func moment(_ database: ConnectionPool) async throws(JobQueueError) -> Double {
    switch end {
    case .after(let time): try await Statement.serverTime.run(on: database).secondsSince1970 + time.inSeconds
    case .at(let moment): moment
    }
  }
}
