import BenchmarkKit
import Foundation
import TestSupport

/// How often a program asks for memory, counted by heaptrack.
enum AllocationCount {
  private static let programs = ["/usr/bin/heaptrack", "/usr/bin/zstdgrep"]

  /// Whether heaptrack is there, and can stand before the program's own allocator.
  static var isAvailable: Bool {
    programs.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
      && !Sanitizer.isOn
  }

  /// Runs a program to its end and counts.
  static func of(_ program: String, _ arguments: [String]) async throws -> Int {
    let folder = try TemporaryFolder()
    // Raw, since what is wanted is one line for each allocation, not whose it is.
    _ = try await MeasuredProcess.run(
      programs[0], ["--raw", "--output", folder.path("allocations"), program] + arguments)
    let counted = try await MeasuredProcess.run(
      programs[1], ["--count", "^+", folder.path("allocations.raw.zst")])
    guard let count = Int(counted.output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw BenchmarkError("heaptrack wrote nothing that can be counted: \(counted.output)")
    }
    return count
  }
}

/// How often a program asks the kernel for something, counted by strace, which also makes it slower. How often a thread
/// waits or wakes another (`write`, by which nothing is sent) is left out, and how often the C library gets memory for
/// the threads, more than a thousand times in a run: both differ from run to run with the same jobs.
enum SystemCallCount {
  private static let program = "/usr/bin/strace"
  private static let leftOut = [
    "epoll_wait", "futex", "write", "mprotect", "madvise", "mmap", "munmap", "brk",
  ]

  /// Whether strace is there, and the program is the one that is released.
  static var isAvailable: Bool {
    FileManager.default.isExecutableFile(atPath: program) && !Sanitizer.isOn
  }

  /// Runs a program to its end and counts, in all its threads.
  static func of(_ program: String, _ arguments: [String]) async throws -> Int {
    let folder = try TemporaryFolder()
    let file = folder.path("calls")
    _ = try await MeasuredProcess.run(
      Self.program,
      [
        "--follow-forks", "--trace=!\(leftOut.joined(separator: ","))", "--summary-only", "--output", file,
        program,
      ] + arguments)
    // The last line: 100.00, seconds, microseconds a call, calls, errors, "total".
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    let words = lines.last?.split(separator: " ") ?? []
    guard words.last == "total", words.count >= 5, let count = Int(words[3]) else {
      throw BenchmarkError("strace wrote no sum: \(lines.last ?? "")")
    }
    return count
  }
}
