import EventLoop
public import PostgreSQL

/// A database of the benchmarks' cluster.
public struct BenchmarkDatabase: Sendable {
  /// Its name.
  public let name: String
  /// A connection string by the Unix socket, as the superuser.
  public let conninfo: String
  /// The same by the loopback, as a URL, for programs in other languages.
  public let url: String
  /// A few connections for preparing and checking; nothing that is timed.
  public let pool: ConnectionPool

  init(name: String, conninfo: String, url: String, loop: EventLoop) {
    self.name = name
    self.conninfo = conninfo
    self.url = url
    pool = ConnectionPool(
      ConnectionConfiguration(
        conninfo, applicationName: "benchmarks", defaultDeadline: .seconds(1800)), on: loop, size: 4)
  }

  /// A number that the database answers.
  ///
  /// - Throws: Its error, or when the answer is no single number.
  public func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int {
    try await pool.query(sql, parameters).single().int(0)
  }
}
