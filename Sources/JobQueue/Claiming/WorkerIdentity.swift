/// Who a worker is to the database.
public struct WorkerIdentity: Sendable, Equatable {
  /// A random number, new for each process.
  public let id: Int64
  /// The machine's name.
  public let host: String
  /// The process's number.
  public let pid: Int32
  /// The program's version.
  public let version: String

  /// A worker with a given number.
  public init(id: Int64, host: String, pid: Int32, version: String) {
    self.id = id
    self.host = host
    self.pid = pid
    self.version = version
  }

  /// A worker with a random number.
  public init(
    host: String, pid: Int32, version: String, using generator: inout some RandomNumberGenerator
  ) {
    self.init(
      id: Int64.random(in: 1...Int64.max, using: &generator), host: host, pid: pid, version: version)
  }
}
