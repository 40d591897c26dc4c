import PostgreSQL
public import Support

/// Who a worker is to the database.
public struct WorkerIdentity: Sendable, Equatable {
  /// 32 random bytes, new for each process. The database knows the worker by a number that it makes of them and of the
  /// login: whoever has another login or another secret is another worker, and reaches none of this one's leases.
  let secret: Secret
  let host: String
  let pid: Int32
  /// The program's version.
  public let version: String

  /// A worker with a given secret.
  public init(secret: Secret, host: String, pid: Int32, version: String) {
    self.secret = secret
    self.host = host
    self.pid = pid
    self.version = version
  }

  /// A worker with a random secret.
  ///
  /// - Parameter generator: in a program, the system's.
  public init(
    host: String, pid: Int32, version: String, using generator: inout some RandomNumberGenerator
  ) {
    let secret = Secret(bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    self.init(secret: secret, host: host, pid: pid, version: version)
  }

  /// The secret as each call gives it.
  var parameter: Parameter { .bytes(secret.bytes) }
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
