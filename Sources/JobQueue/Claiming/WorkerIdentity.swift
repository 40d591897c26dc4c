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

/// The ids of a worker's leases: random high bits and a counter, so that they are unique without asking
/// the database and a lost answer can be looked up by them.
public struct LeaseIDs: Sendable {
  private var following: Int64

  /// Ids of a process; 31 random bits above a counter of 32.
  public init(using generator: inout some RandomNumberGenerator) {
    following = Int64(UInt32.random(in: 1...0x7FFF_FFFF, using: &generator)) << 32
  }

  /// Takes so many ids that follow one another, and answers the first.
  ///
  /// The counter runs over into the random bits after 2^32 leases, which does no harm.
  public mutating func take(_ count: Int) -> Int64 {
    if following > Int64.max - Int64(max(count, 1)) { following = 1 << 32 }
    defer { following += Int64(max(count, 1)) }
    return following
  }
}
