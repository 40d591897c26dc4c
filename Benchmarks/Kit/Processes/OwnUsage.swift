import Glibc

/// What this process itself has used.
public struct OwnUsage: Sendable {
  /// User and system seconds since it was started.
  public let seconds: Double
  /// Those of its children that have ended and were waited for.
  public let secondsOfChildren: Double
  /// The peak of its resident memory in bytes.
  public let peakMemory: Int

  /// What it has used up to now.
  public init() {
    var usage = rusage()
    _ = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    seconds = Self.seconds(usage)
    _ = getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    secondsOfChildren = Self.seconds(usage)
    peakMemory = ProcessFiles.read(getpid(), "status").flatMap(ProcessFiles.peakMemory) ?? 0
  }

  static func seconds(_ usage: rusage) -> Double {
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
  }
}
