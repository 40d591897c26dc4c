/// What can run out.
public enum Resource: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
  /// The database server's processors.
  case processors
  /// The speed at which the server can write its write-ahead log.
  case log
  /// Bytes that come to the server.
  case networkIn
  /// Bytes that leave it.
  case networkOut
  /// Calls that the workers can make for whom the server has connections.
  case connections
  /// Calls that the workers can make that there are.
  case workers

  /// How it is called in a table.
  public var text: String {
    switch self {
    case .processors: "processors"
    case .log: "log"
    case .networkIn: "network in"
    case .networkOut: "network out"
    case .connections: "connections"
    case .workers: "workers"
    }
  }
}
