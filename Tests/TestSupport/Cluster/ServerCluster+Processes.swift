import Foundation
import Glibc

/// The server's processes, and what can be done to them.
extension ServerCluster {
  /// The number of the first server process; nil when none runs.
  public var postmaster: Int32? {
    let text = try? String(contentsOfFile: "\(dataFolder)/postmaster.pid", encoding: .utf8)
    guard let pid = text?.split(separator: "\n").first.flatMap({ Int32($0) }), isOurs(pid) else { return nil }
    return pid
  }

  /// Kills the first server process, as a crash or the kernel's out-of-memory killer would, and waits until
  /// the others have noticed and gone.
  ///
  /// - Parameter grace: How long the others have for it before they are killed too.
  public func kill(grace: Duration = .seconds(10)) async throws {
    guard let postmaster else { throw TestSupportError("The server does not run") }
    try signal(postmaster, SIGKILL)
    let begin = ContinuousClock.now
    while true {
      let left = processes
      // One that was not waited for has its number still, and the next server would take it for alive.
      if left.isEmpty, Glibc.kill(postmaster, 0) != 0 { return }
      // A busy or frozen one does not notice, and the next server would not start beside it.
      if ContinuousClock.now > begin + grace { for pid in left { _ = Glibc.kill(pid, SIGKILL) } }
      guard ContinuousClock.now < begin + patience else {
        throw TestSupportError(
          "The killed server did not end within \(patience); no process has collected its exit")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Kills one backend; the server cuts all the others and recovers.
  public func killBackend(_ pid: Int32) throws { try signal(pid, SIGKILL) }

  /// Sends a signal to one of the server's processes.
  ///
  /// - Throws: `TestSupportError` when it is none of this server's.
  public func signal(_ pid: Int32, _ signal: Int32) throws {
    guard isOurs(pid) else { throw TestSupportError("\(pid) is no process of this server") }
    guard Glibc.kill(pid, signal) == 0 else {
      throw TestSupportError("\(pid) could not be sent signal \(signal): errno \(errno)")
    }
  }

  /// All processes of the server.
  private var processes: [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter(isOurs)
  }

  /// Every process of a server works in its data folder.
  private func isOurs(_ pid: Int32) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")) == dataFolder
  }
}
