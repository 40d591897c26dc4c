/// One of those that a row compares: our program at some settings, a limit beside it, or a peer.
public struct Contender: Sendable {
  /// What it is to the comparison.
  public enum Part: String, Sendable, Codable {
    /// Our own program.
    case ours
    /// What the server or the machine gives without a queue: nothing that keeps the promises can pass it by far.
    case limit
    /// Another queue.
    case peer
  }

  /// How it is called in the table, for instance `500 a batch`.
  public let name: String
  /// What it is to the comparison.
  public let part: Part
  /// Prepares what one run needs, runs and meters it, and cleans up; only the middle part is timed.
  public let measure: @Sendable (Bench) async throws -> Sample

  /// A contender.
  public init(
    _ name: String, _ part: Part = .ours, measure: @escaping @Sendable (Bench) async throws -> Sample
  ) {
    self.name = name
    self.part = part
    self.measure = measure
  }
}
