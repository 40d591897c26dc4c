import Foundation

/// What the kernel tells of a process in `/proc`.
public enum ProcessFiles {
  /// The parts of `/proc/PID/stat` that are needed here.
  public struct Status: Sendable, Equatable {
    /// The process that started it.
    public let parent: Int32
    /// User and system ticks of its own.
    public let ticks: UInt64
    /// User and system ticks of its children that ended and were waited for.
    public let ticksOfEnded: UInt64
  }

  /// Ticks a second; the kernel shows them to programs as 100 on every Linux.
  public static let ticksPerSecond = 100.0

  /// Reads the text of `/proc/PID/stat`; nil when it is none. The program's name may hold spaces and brackets, so
  /// fields are counted from the last closing one.
  public static func status(_ text: String) -> Status? {
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    // Fields are numbered from 1 in proc(5); the first here is the third there.
    guard fields.count > 14, let parent = Int32(fields[1]), let user = UInt64(fields[11]),
      let system = UInt64(fields[12]), let endedUser = UInt64(fields[13]),
      let endedSystem = UInt64(fields[14])
    else { return nil }
    return Status(parent: parent, ticks: user + system, ticksOfEnded: endedUser + endedSystem)
  }

  /// The peak of the resident memory in bytes, by the text of `/proc/PID/status`; nil for a process that has ended.
  public static func peakMemory(_ text: String) -> Int? { kilobytes("VmHWM:", text) }

  /// The resident memory in bytes, by the text of `/proc/PID/status`; nil for a process that has ended.
  public static func memory(_ text: String) -> Int? { kilobytes("VmRSS:", text) }

  private static func kilobytes(_ name: String, _ text: String) -> Int? {
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
        .map { $0 * 1024 }
    }
    return nil
  }

  /// The text of a file of a process; nil when it has gone.
  public static func read(_ pid: Int32, _ file: String) -> String? {
    try? String(contentsOfFile: "/proc/\(pid)/\(file)", encoding: .utf8)
  }

  /// The numbers of all processes.
  public static func all() -> [Int32] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
  }
}
