import Foundation
import Glibc

/// A part of a core that a program may use and no more (a control group of Linux), so that it is that program whose limit
/// shows, and not the machine's.
public final class ProcessorBudget: Sendable {
  /// Whether this login can make one here: root can, but not in most containers.
  public static let isAvailable = ProcessorBudget(share: 1) != nil

  private let group: String

  /// Makes one; nil where this login can make no control group.
  ///
  /// - Parameter share: Of a core, 1 being all of it.
  public init?(share: Double) {
    let name = "analysis-benchmarks-\(getpid())"
    // Short periods, so that nobody waits long for the rest of one.
    let (period, quota) = (10_000, Int(share * 10_000))
    let versions = [
      ("/sys/fs/cgroup/cpu", [("cpu.cfs_period_us", "\(period)"), ("cpu.cfs_quota_us", "\(quota)")]),
      ("/sys/fs/cgroup", [("cpu.max", "\(quota) \(period)")]),
    ]
    for (root, files) in versions {
      let group = "\(root)/\(name)"
      guard mkdir(group, 0o755) == 0 || errno == EEXIST else { continue }
      if files.allSatisfy({ Self.write($0.1, to: "\(group)/\($0.0)") }) {
        self.group = group
        return
      }
      rmdir(group)
    }
    return nil
  }

  /// The group is empty once the program has ended.
  deinit { rmdir(group) }

  /// Holds a program, with all of its threads, to it.
  ///
  /// - Throws: ``BenchmarkError`` when the kernel refuses.
  public func hold(_ program: MeasuredProcess) throws {
    guard Self.write("\(program.processID)", to: "\(group)/cgroup.procs") else {
      throw BenchmarkError("A program cannot be put into the control group \(group).")
    }
  }

  /// A file of a control group takes what is written by one call, and is never made.
  private static func write(_ text: String, to path: String) -> Bool {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    return text.withCString { Glibc.write(file, $0, text.utf8.count) } == text.utf8.count
  }
}
