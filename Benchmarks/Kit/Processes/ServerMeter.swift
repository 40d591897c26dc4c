/// Reads how much of the processors a PostgreSQL server has used.
///
/// Every process of a server is a child of the first one, which waits for those that end: so its own ticks, those
/// of its ended children and those of its living ones are all there are.
public struct ServerMeter: Sendable {
  /// The first process of the server.
  public let postmaster: Int32

  /// A meter of the server whose first process is given.
  public init(postmaster: Int32) {
    self.postmaster = postmaster
  }

  /// User and system seconds since the server was started, to a hundredth for each process.
  ///
  /// - Throws: ``BenchmarkError`` when the server does not run, or its processes end without end.
  public func seconds() throws -> Double {
    try seconds(
      status: { ProcessFiles.read($0, "stat").flatMap(ProcessFiles.status) }, processes: ProcessFiles.all)
  }

  /// The same of any table of processes.
  ///
  /// A process that ends and is reaped by the first one while they are looked at would be missed, or counted twice: then
  /// all of them are looked at again.
  ///
  /// - Throws: ``BenchmarkError`` when the first process is not there, or others end without end.
  func seconds(
    status: (Int32) -> ProcessFiles.Status?, processes: () -> [Int32]
  ) throws -> Double {
    func first() throws -> ProcessFiles.Status {
      guard let first = status(postmaster) else {
        throw BenchmarkError("The PostgreSQL server has ended in the middle of a run; its log says why.")
      }
      return first
    }
    var before = try first()
    for _ in 1...Self.looks {
      let living = processes().compactMap(status).filter { $0.parent == postmaster }
        .reduce(0) { $0 + $1.ticks }
      let now = try first()
      if now.ticksOfEnded == before.ticksOfEnded {
        return Double(now.ticks + now.ticksOfEnded + living) / ProcessFiles.ticksPerSecond
      }
      before = now
    }
    throw BenchmarkError(
      "In each of \(Self.looks) looks a process of the server ended: what it has used cannot be told.")
  }

  private static let looks = 100
}
