public import PostgreSQL
import Support

/// How far this machine's clock goes from the database server's.
public struct ClockComparison: Sendable, Equatable {
  /// By how many seconds this machine's clock is ahead; negative when it is behind.
  public let ahead: Double
  /// By how many seconds that may be wrong: half the time that asking took.
  public let uncertainty: Double

  /// A comparison that was made elsewhere.
  public init(ahead: Double, uncertainty: Double) {
    self.ahead = ahead
    self.uncertainty = uncertainty
  }

  /// A comparison by one question.
  ///
  /// - Parameters:
  ///   - sent: this machine's clock when the question left, in seconds since 1970.
  ///   - received: this machine's clock when the answer came.
  ///   - server: what the server's clock said between the two.
  public init(sent: Double, received: Double, server: Double) {
    ahead = (sent + received) / 2 - server
    uncertainty = max(0, received - sent) / 2
  }

  /// Compares by asking a server.
  public static func measured(
    on database: ConnectionPool, deadline: Duration? = nil
  ) async throws(JobQueueError) -> ClockComparison {
    let clock = Statement(file: "server/clock.sql", while: "asking for the server's time") { rows in
      try rows.single().secondsIfPresent("at")
    }
    guard let comparison = try await comparing(by: clock, on: database, deadline: deadline) else {
      throw JobQueueError(.unexpectedAnswer, "The server did not tell its time.")
    }
    return comparison
  }

  /// Compares by a statement that answers the server's clock; nil when it answers none. The time is taken when
  /// there is a connection, so that the wait for one is no part of it.
  static func comparing(
    by statement: Statement<Double?>, on database: ConnectionPool, deadline: Duration?
  ) async throws(JobQueueError) -> ClockComparison? {
    do {
      return try await database.withConnection(deadline: deadline) { connection in
        let sent = UnixTime.now.secondsSince1970
        guard let server = try await statement.run(on: connection, deadline: deadline) else { return nil }
        return ClockComparison(sent: sent, received: UnixTime.now.secondsSince1970, server: server)
      }
    } catch {
      throw JobQueueError(error, while: "comparing the clocks")
    }
  }
}

extension Statement where Output == Timestamp {
  /// Asks for the server's clock.
  package static var serverTime: Statement<Timestamp> {
    Statement(file: "server/clock.sql", while: "asking for the server's time") { rows in
      try rows.single().timestamp("at")
    }
  }
}
