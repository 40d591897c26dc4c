public import PostgreSQL
public import Support

/// Something that an operator has paused, and that is paused still.
public struct OperatorPause: Sendable, Equatable, Decodable {
  /// What is paused.
  public enum Scope: Sendable, Hashable, CustomStringConvertible {
    case everything
    /// The jobs of one type.
    case kind(AnalysisKind)
    /// The jobs of whatever type are sent to an endpoint, by the name that workers call it.
    case endpoint(String)

    /// As text: `everything`, `ear` or the endpoint's name.
    public var description: String {
      switch self {
      case .everything: "everything"
      case .kind(let kind): kind.rawValue
      case .endpoint(let name): name
      }
    }
  }

  /// What is paused.
  public let scope: Scope
  /// Why; nil when the operator did not say.
  public let reason: String?
  /// The database role of whoever paused it.
  public let by: String
  /// Since when, in seconds since 1970.
  public let since: Double
  /// Until when, in seconds since 1970; nil for until it is resumed.
  public let until: Double?
  /// How many seconds are left of it by the server's clock; nil for until it is resumed.
  public let secondsLeft: Double?

  /// A pause with its parts.
  public init(
    _ scope: Scope, reason: String? = nil, by: String, since: Double, until: Double? = nil,
    secondsLeft: Double? = nil
  ) {
    self.scope = scope
    self.reason = reason
    self.by = by
    self.since = since
    self.until = until
    self.secondsLeft = secondsLeft
  }

  /// Whether it keeps a worker from starting jobs of a type whose endpoint has the given name.
  public func stops(_ kind: AnalysisKind, endpoint: String) -> Bool {
    switch scope {
    case .everything: true
    case .kind(let paused): paused == kind
    case .endpoint(let name): Self.plain(name) == Self.plain(endpoint)
    }
  }

  /// A slash at the end of an address makes no other endpoint.
  private static func plain(_ name: String) -> Substring {
    var name = name[...]
    while name.last == "/" { name.removeLast() }
    return name
  }
}

extension OperatorPause.Scope {
  /// The two columns by which the database knows it.
  package var columns: (scope: String, name: String) {
    switch self {
    case .everything: ("all", "")
    case .kind(let kind): ("type", kind.rawValue)
    case .endpoint(let name): ("endpoint", name)
    }
  }

  /// The scope that the database knows by these two columns.
  package init(scope: String, name: String) throws(JobQueueError) {
    switch (scope, AnalysisKind(rawValue: name)) {
    case ("all", _): self = .everything
    case ("type", let kind?): self = .kind(kind)
    case ("endpoint", _): self = .endpoint(name)
    default:
      throw JobQueueError(
        .unexpectedAnswer, "The database named a pause that this program does not know: \(scope) \(name).",
        advice: "Use the program's version that belongs to the schema.")
    }
  }
}

extension OperatorPause.Scope: Decodable {
  private enum CodingKeys: CodingKey { case scope, name }

  /// Reads the two columns.
  public init(from decoder: any Decoder) throws {
    let columns = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      scope: columns.decode(String.self, forKey: .scope), name: columns.decode(String.self, forKey: .name))
  }
}

/// The pauses that operators make: kept in the database and obeyed by every worker.
public struct PauseDirectory: Sendable {
  package let database: ConnectionPool

  /// The pauses of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// The pauses in force.
  public func inForce(deadline: Duration? = nil) async throws(JobQueueError) -> [OperatorPause] {
    try await Statement(
      SQLFunction("pauses_in_force", 0), as: [OperatorPause].self, while: "reading the operators' pauses"
    ).run(on: database, deadline: deadline)
  }
}
