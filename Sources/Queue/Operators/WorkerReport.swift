import FoundationEssentials
public import PostgreSQL
import Support

/// What a worker says of itself beside its sign of life: counts, endpoints and its clock.
///
/// It is stored as JSON. A worker of another version may know more or fewer counters; what is not said is
/// empty here.
public struct WorkerReport: Sendable, Equatable {
  /// An endpoint as the worker finds it.
  public struct Endpoint: Sendable, Equatable {
    /// Whether it is called.
    public enum State: String, Sendable, Codable {
      case open
      /// It failed, or refused the worker, and is left alone for a while.
      case shut
      /// It was shut, and one call is under way to see whether the cause has gone.
      case probing
      /// An operator has paused it, or every type that is sent to it.
      case paused
    }

    /// Its name: the address as the worker was given it.
    public var name: String
    /// The types of analysis that are sent to it.
    public var kinds: [String]
    /// Whether it is called.
    public var state: State
    /// Why it is not called; nil while it is.
    public var reason: String?
    /// In how many seconds it is tried again; nil where that is not known.
    public var nextTrySeconds: Double?
    /// Calls in flight.
    public var inFlight: Int
    /// How many calls may be in flight at present.
    public var window: Int
    /// Calls that have ended since the worker started; nil from a version that does not say so.
    public var calls: Int?
    /// How many seconds they took together.
    public var callSeconds: Double?

    /// An endpoint with its parts.
    public init(
      name: String, kinds: [String], state: State, reason: String? = nil, nextTrySeconds: Double? = nil,
      inFlight: Int = 0, window: Int = 0, calls: Int? = nil, callSeconds: Double? = nil
    ) {
      self.name = name
      self.kinds = kinds
      self.state = state
      self.reason = reason
      self.nextTrySeconds = nextTrySeconds
      self.inFlight = inFlight
      self.window = window
      self.calls = calls
      self.callSeconds = callSeconds
    }
  }

  /// What was counted since the worker started, by name.
  public var counters: [String: Int]
  /// The endpoints that it calls.
  public var endpoints: [Endpoint]
  /// By how many seconds the worker's clock is ahead of the server's; nil before it was measured.
  public var clockAhead: Double?
  /// By how many seconds that may be wrong: half the time that asking took.
  public var clockUncertainty: Double?

  /// A report with its parts.
  public init(
    counters: [String: Int] = [:], endpoints: [Endpoint] = [], clockAhead: Double? = nil,
    clockUncertainty: Double? = nil
  ) {
    self.counters = counters
    self.endpoints = endpoints
    self.clockAhead = clockAhead
    self.clockUncertainty = clockUncertainty
  }
}

extension WorkerReport: Codable {
  private enum CodingKeys: String, CodingKey {
    case counters, endpoints
    case clockAhead = "clock_ahead"
    case clockUncertainty = "clock_uncertainty"
  }

  /// Reads a report; what is missing is empty.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    counters = try container.decodeIfPresent([String: Int].self, forKey: .counters) ?? [:]
    endpoints = try container.decodeIfPresent([Endpoint].self, forKey: .endpoints) ?? []
    clockAhead = try container.decodeIfPresent(Double.self, forKey: .clockAhead)
    clockUncertainty = try container.decodeIfPresent(Double.self, forKey: .clockUncertainty)
  }

  /// The report as JSON.
  var json: String {
    // Numbers are finite and texts are text: there is nothing that could not be encoded.
    (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  /// A stored report; nil for one that this version does not understand.
  package init?(json: String) {
    guard let report = try? JSONDecoder().decode(WorkerReport.self, from: Data(json.utf8)) else { return nil }
    self = report
  }
}

extension WorkerReport.Endpoint: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, kinds, state, reason
    case nextTrySeconds = "next_try_seconds"
    case inFlight = "in_flight"
    case window, calls
    case callSeconds = "call_seconds"
  }
}

extension WorkerReport.Endpoint {
  /// Whether the worker does not call it after failures, or only to see whether their cause has gone: its breaker is
  /// open. What an operator has paused is not.
  public var isLeftAlone: Bool { state == .shut || state == .probing }
}

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
  init(sent: Double, received: Double, server: Double) {
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
