import Foundation
import Synchronization
import TestSupport

/// Runs the package's programs with folders for their output below the run's own.
final class ProgramRunner: Sendable {
  private let programs: URL
  private let folder: URL
  private let count = Mutex(0)
  /// Those that run, by number; nil when nothing is to be started any more.
  private let running = Mutex<[Int: RunningProgram]?>([:])

  init(_ settings: RunSettings) {
    programs = settings.programs
    folder = settings.folder.appending(path: "programs")
  }

  /// Starts a program; its output stays in a folder that is named for it and numbered.
  func start(
    _ name: String, _ arguments: [String], environment: [String: String] = [:], label: String? = nil
  ) throws -> RunningProgram {
    let number = count.withLock { count in
      count += 1
      return count
    }
    var all = ProcessInfo.processInfo.environment.filter {
      !$0.key.hasPrefix("PG") && !$0.key.hasPrefix("ANALYSIS_")
    }
    all.merge(environment) { _, new in new }
    let digits = String(100_000 + number).dropFirst()
    let program = try RunningProgram(
      programs.appending(path: name).path, arguments, environment: all,
      files: folder.appending(path: "\(digits)-\(label ?? name)"))
    let isOpen = running.withLock { running in
      running?[number] = program
      return running != nil
    }
    if !isOpen { program.send(SIGKILL) }
    Task {
      _ = await program.ended()
      running.withLock { $0?[number] = nil }
    }
    return program
  }

  /// Ends whatever still runs, and whatever is started later.
  func killAll() {
    let left = running.withLock { running in
      defer { running = nil }
      return Array((running ?? [:]).values)
    }
    for program in left { program.send(SIGKILL) }
  }
}
