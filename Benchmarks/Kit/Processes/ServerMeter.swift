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
  /// - Throws: ``BenchmarkError`` when the server does not run.
  public func seconds() throws -> Double {
    try seconds(
      status: { ProcessFiles.read($0, "stat").flatMap(ProcessFiles.status) }, processes: ProcessFiles.all)
  }

  /// The same of what is told of the processes.
  ///
  /// A process that is waited for while they are looked at would be missed, or counted twice: then all of it is
  /// looked at again.
  func seconds(
    status: (Int32) -> ProcessFiles.Status?, processes: () -> [Int32]
  ) throws -> Double {
    func first() throws -> ProcessFiles.Status {
      guard let first = status(postmaster) else {
        throw BenchmarkError("The PostgreSQL server has ended in the middle of a run; its log says why.")
      }
      return first
    }
    var ended = try first().ticksOfEnded
    while true {
      let living = processes().compactMap(status).filter { $0.parent == postmaster }
        .reduce(0) { $0 + $1.ticks }
      let now = try first()
      if now.ticksOfEnded == ended {
        return Double(now.ticks + ended + living) / ProcessFiles.ticksPerSecond
      }
      ended = now.ticksOfEnded
    }
  }
}
