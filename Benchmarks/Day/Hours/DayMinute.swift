/// What a minute of a simulated day came to.
public struct DayMinute: Sendable, Equatable {
  /// Jobs whose submitters came in it.
  public let arrived: Int
  /// Jobs that were submitted in it.
  public let submitted: Int
  /// Jobs that were done in it.
  public let done: Int
  /// Jobs at its end whose submitters still wait for the server.
  public let outside: Int
  /// Jobs at its end that are submitted and not done.
  public let backlog: Int
  /// How many minutes the job at the head of the line has waited at its end; zero when none waits.
  public let headWait: Int
  /// Which share of each resource was used, 1 being all of it.
  public let use: [Resource: Double]
  /// Bytes of write-ahead log that were written.
  public let logBytes: Double

  /// The resource of which the greatest share was used.
  public var scarcest: Resource {
    Resource.allCases.max { use[$0] ?? 0 < use[$1] ?? 0 } ?? .processors
  }
}
