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
    guard let first = ProcessFiles.read(postmaster, "stat").flatMap(ProcessFiles.status) else {
      throw BenchmarkError("The PostgreSQL server has ended in the middle of a run; its log says why.")
    }
    var ticks = first.ticks + first.ticksOfEnded
    for pid in ProcessFiles.all() {
      guard let process = ProcessFiles.read(pid, "stat").flatMap(ProcessFiles.status),
        process.parent == postmaster
      else { continue }
      ticks += process.ticks
    }
    return Double(ticks) / ProcessFiles.ticksPerSecond
  }
}
