import PostgreSQL
import Queue
import Support

/// Whether jobs are run, and why not, as `analysis.queue_state` says it once for all who show it.
public struct QueueState: Sendable, Equatable, Decodable {
  /// What the queue does.
  public enum Name: String, Sendable, CaseIterable, Decodable {
    case working, paused
    case noWorker = "no worker"
    case endpointShut = "endpoint shut"
  }

  /// What the queue does.
  public let name: Name
  /// Of which type, and why, as far as there is more to say.
  public let why: String?

  /// A state with its parts.
  public init(_ name: Name, why: String? = nil) {
    self.name = name
    self.why = why
  }

  /// `working`, `paused: ear jobs, the lamp is broken`.
  var words: String { name.rawValue + (why.map { ": \(printable($0))" } ?? "") }

  private struct Columns: Decodable {
    let state: String
    let why: String?
  }

  static let statement = Statement(
    SQLFunction("queue_state", 0), as: Columns.self, while: "reading the queue's state"
  ) { found in
    Name(rawValue: found.state).map { QueueState($0, why: found.why) }
  }
}
