import Foundation
import Glibc
import Synchronization
import TestSupport

/// A program that runs under test: what it writes, what it uses, how it ends.
///
/// Its output goes to files, since pipes of a size can wait for each other. Nothing here blocks a thread of the
/// cooperative pool.
public final class MeasuredProcess: Sendable {
  /// What a program has used.
  public struct Usage: Sendable, Equatable {
    /// User and system seconds, children that it waited for included.
    public var seconds: Double
    /// The peak of its resident memory in bytes.
    public var peakMemory: Int
  }

  /// How a program ended.
  public struct Ended: Sendable {
    /// Its exit status, or the number of the signal that ended it.
    public let status: Int32
    /// Whether a signal ended it.
    public let wasKilled: Bool
    /// What it wrote to its standard output.
    public let output: String
    /// What it wrote to its standard error.
    public let errors: String
    /// All that it used. The memory was looked at every 20 ms, its last moments perhaps not.
    public let usage: Usage
  }

  private struct State {
    var peakMemory = 0
    var ended: Ended?
    var waiting: [CheckedContinuation<Ended, Never>] = []
  }

  /// The process's number.
  public let processID: Int32
  private let folder: TemporaryFolder
  private let state = Mutex(State())

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - environment: What is added to this process's own, of which `PG*` and `ANALYSIS_*` are left out.
  /// - Throws: ``BenchmarkError`` when it cannot be started.
  public init(
    _ path: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws {
    folder = try TemporaryFolder()
    let words = [path] + arguments
    var all = ProcessInfo.processInfo.environment.filter {
      !$0.key.hasPrefix("PG") && !$0.key.hasPrefix("ANALYSIS_")
    }
    all.merge(environment) { _, new in new }
    let variables = all.map { "\($0.key)=\($0.value)" }
    let files = [folder.path("output"), folder.path("errors")]
    processID = try RunningProcesses.add {
      try Self.spawn(words, variables, files)
    }
    watch()
  }

  /// Runs a program to its end.
  ///
  /// - Throws: ``BenchmarkError`` when it ends with another code than is expected, with the last of what it said.
  public static func run(
    _ path: String, _ arguments: [String], environment: [String: String] = [:],
    expecting codes: Set<Int32> = [0]
  ) async throws -> Ended {
    try await MeasuredProcess(path, arguments, environment: environment).succeeded(codes)
  }

  /// Waits for its end, on no thread.
  public func ended() async -> Ended {
    defer { withExtendedLifetime(self) {} }
    return await withCheckedContinuation { continuation in
      let ended = state.withLock { state -> Ended? in
        if state.ended == nil { state.waiting.append(continuation) }
        return state.ended
      }
      if let ended { continuation.resume(returning: ended) }
    }
  }

  /// Waits for its end.
  ///
  /// - Throws: ``BenchmarkError`` when it ended with another code than is expected, with the last of what it said.
  public func succeeded(_ codes: Set<Int32> = [0]) async throws -> Ended {
    let ended = await ended()
    guard codes.contains(ended.status), !ended.wasKilled else {
      let way = ended.wasKilled ? "was ended by signal" : "ended with"
      throw BenchmarkError("A program \(way) \(ended.status): \(ended.errors.suffix(2000))")
    }
    return ended
  }

  /// Whether it has ended.
  public var hasEnded: Bool { state.withLock { $0.ended != nil } }

  /// What it has used so far, its seconds to a hundredth; all of it when it has ended.
  public var usage: Usage {
    if let ended = state.withLock({ $0.ended }) { return ended.usage }
    let ticks = ProcessFiles.read(processID, "stat").flatMap(ProcessFiles.status)
    let now = ProcessFiles.read(processID, "status").flatMap(ProcessFiles.peakMemory) ?? 0
    return Usage(
      seconds: ticks.map { Double($0.ticks + $0.ticksOfEnded) / ProcessFiles.ticksPerSecond } ?? 0,
      peakMemory: max(now, state.withLock { $0.peakMemory }))
  }

  /// The memory that it holds at this moment, in bytes; nil when it has ended.
  public var memory: Int? { ProcessFiles.read(processID, "status").flatMap(ProcessFiles.memory) }

  /// Sends it a signal, unless it has ended.
  public func send(_ signal: Int32) { RunningProcesses.signal(processID, signal) }

  /// What it has written to its standard output so far.
  public var outputSoFar: String { text("output") }

  /// What it has written to its standard error so far.
  public var errorsSoFar: String { text("errors") }

  /// Waits until what it has written satisfies `isThere`; there is nothing to wait on but the files, so they are
  /// looked at again and again.
  ///
  /// - Throws: ``BenchmarkError`` when it ends first, or a minute passes.
  public func wait(for what: String, _ isThere: (_ output: String, _ errors: String) -> Bool) async throws {
    let patience = ContinuousClock.now + .seconds(60)
    while true {
      let hasEnded = hasEnded
      if isThere(outputSoFar, errorsSoFar) { return }
      guard !hasEnded, ContinuousClock.now < patience else {
        throw BenchmarkError("A program did not come to \(what): \(errorsSoFar.suffix(2000))")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func text(_ name: String) -> String {
    (try? String(contentsOfFile: folder.path(name), encoding: .utf8)) ?? ""
  }
}

// MARK: Starting and watching

extension MeasuredProcess {
  private static func spawn(
    _ words: [String], _ variables: [String], _ files: [String]
  ) throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for (index, file) in files.enumerated() {
      posix_spawn_file_actions_addopen(
        &actions, Int32(index + 1), file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    }
    // The threads of the pool, from which programs are started, block signals, and one is ignored here: a program
    // would inherit both.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let arguments = words.map { strdup($0) } + [nil]
    let environment = variables.map { strdup($0) } + [nil]
    defer { for pointer in arguments + environment { free(pointer) } }
    var pid = pid_t()
    let code = posix_spawnp(&pid, words[0], &actions, &attributes, arguments, environment)
    guard code == 0 else {
      throw BenchmarkError("\(words[0]) cannot be started: \(String(cString: strerror(code))).")
    }
    return pid
  }

  /// Two threads of its own: one sleeps until the end, one looks at the memory, which is gone with the process.
  /// The peak in `rusage` would not do: a spawned process begins with its parent's.
  private func watch() {
    Thread.detachNewThread { [self] in
      var status: Int32 = 0
      var usage = rusage()
      // Its number stays its own until it is waited for: first it is struck off the list, so that no signal can
      // fall on another.
      var info = siginfo_t()
      while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      RunningProcesses.remove(processID)
      while wait4(processID, &status, 0, &usage) < 0, errno == EINTR {}
      finish(status, OwnUsage.seconds(usage))
    }
    Thread.detachNewThread { [self] in
      while !hasEnded {
        if let peak = ProcessFiles.read(processID, "status").flatMap(ProcessFiles.peakMemory) {
          state.withLock { $0.peakMemory = max($0.peakMemory, peak) }
        }
        // The kernel tells nobody of a new peak; this thread is its own and does nothing else.
        usleep(20_000)
      }
    }
  }

  private func finish(_ status: Int32, _ seconds: Double) {
    let signal = status & 0x7F
    let output = outputSoFar
    let errors = errorsSoFar
    let (ended, waiting) = state.withLock { state in
      let ended = Ended(
        status: signal == 0 ? (status >> 8) & 0xFF : signal, wasKilled: signal != 0, output: output,
        errors: errors, usage: Usage(seconds: seconds, peakMemory: state.peakMemory))
      state.ended = ended
      defer { state.waiting = [] }
      return (ended, state.waiting)
    }
    for continuation in waiting { continuation.resume(returning: ended) }
  }
}
