import Glibc
import Synchronization

/// The programs that run for the benchmarks, so that none outlives them.
enum RunningProcesses {
  private struct State {
    var running: Set<Int32> = []
    var isClosed = false
  }

  private static let state = Mutex(State())

  /// Starts a program by `start`, unless nothing is to be started any more.
  static func add(_ start: () throws -> Int32) throws -> Int32 {
    try state.withLock { state in
      guard !state.isClosed else { throw BenchmarkError("The benchmarks are being stopped.") }
      let pid = try start()
      state.running.insert(pid)
      return pid
    }
  }

  /// A program has ended and was waited for: its number may be another's from now on.
  static func remove(_ pid: Int32) { state.withLock { _ = $0.running.remove(pid) } }

  /// Signals a program, unless it has ended.
  static func signal(_ pid: Int32, _ number: Int32) {
    state.withLock { state in
      if state.running.contains(pid) { _ = kill(pid, number) }
    }
  }

  /// Kills what runs, and lets nothing more be started.
  static func killAll() {
    state.withLock { state in
      state.isClosed = true
      for pid in state.running { _ = kill(pid, SIGKILL) }
    }
  }
}

/// All programs that the benchmarks have started.
public enum ProgramsUnderTest {
  /// Kills them, and lets no other be started: for whoever ends before the benchmarks do.
  public static func killAll() { RunningProcesses.killAll() }
}
