/// What an hour of a simulated day came to.
public struct DayHour: Sendable, Equatable, Codable {
  /// Which one, from 0; beyond 23 it is of the days after.
  public let hour: Int
  /// Jobs whose submitters came in it.
  public let arrived: Int
  /// Jobs that were done in it.
  public let done: Int
  /// Jobs at its end that are not done: submitted, or with submitters who wait for the server.
  public let backlog: Int
  /// The longest that a job at the head of the line had waited, in minutes.
  public let longestWaitMinutes: Int
  /// The share of the server's processors that was used over the hour, 1 being all of them.
  public let processors: Double
  /// Bytes of write-ahead log a second over the hour.
  public let logBytesPerSecond: Double
  /// The resource that was scarcest in the hour's hardest minute, and its share that was used then.
  public let scarcest: Resource
  /// Which share of it was used in that minute.
  public let scarcestUse: Double

  /// Sums up the minutes of an hour, at least one.
  init(hour: Int, _ minutes: ArraySlice<DayMinute>) {
    self.hour = hour
    arrived = minutes.reduce(0) { $0 + $1.arrived }
    done = minutes.reduce(0) { $0 + $1.done }
    backlog = minutes.last.map { $0.backlog + $0.outside } ?? 0
    longestWaitMinutes = minutes.map(\.headWait).max() ?? 0
    let count = Double(minutes.count)
    processors = minutes.reduce(0) { $0 + ($1.use[.processors] ?? 0) } / count
    logBytesPerSecond = minutes.reduce(0) { $0 + $1.logBytes } / (count * DaySimulation.secondsOfMinute)
    let hardest = minutes.max { $0.use[$0.scarcest] ?? 0 < $1.use[$1.scarcest] ?? 0 }
    scarcest = hardest?.scarcest ?? .processors
    scarcestUse = hardest?.use[scarcest] ?? 0
  }
}
