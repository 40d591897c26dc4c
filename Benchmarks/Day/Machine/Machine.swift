/// The database server on which the jobs are to run. None of it is measured: these are assumptions, and all of them
/// are given.
public struct Machine: Sendable, Equatable, Codable {
  /// Its cores. The cost of a job is taken to be the same on each of them, however many there are.
  public var cores: Int
  /// Bytes of write-ahead log that it can write in a second, for hours.
  public var logBytesPerSecond: Double
  /// Bytes that its network takes in a second, in each direction.
  public var networkBytesPerSecond: Double
  /// Connections that the workers may hold, of the server or of the pooler before it.
  public var connections: Int
  /// Standbys that the log is sent to.
  public var standbys: Int

  /// A server; speeds in bytes a second.
  public init(
    cores: Int, logBytesPerSecond: Double, networkBytesPerSecond: Double, connections: Int, standbys: Int = 0
  ) {
    self.cores = cores
    self.logBytesPerSecond = logBytesPerSecond
    self.networkBytesPerSecond = networkBytesPerSecond
    self.connections = connections
    self.standbys = standbys
  }
}
