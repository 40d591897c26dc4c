import Foundation
import TestSupport
import Testing

/// The clock of a program that is three days off, by libfaketime; the time that only counts on is left
/// alone, as a clock that is set wrong leaves it.
struct WrongClock: Sendable, CustomTestStringConvertible {
  let testDescription: String
  private let offset: String

  static let both = [
    WrongClock(testDescription: "three days ahead", offset: "+3d"),
    WrongClock(testDescription: "three days behind", offset: "-3d"),
  ]

  /// So far off that no object store takes its signatures.
  static let twentyMinutesAhead = WrongClock(testDescription: "twenty minutes ahead", offset: "+20m")

  private static let library = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
  ].first { FileManager.default.isReadableFile(atPath: $0) }

  /// Whether there is the library that it takes, and the programs can be run with it: a sanitizer waits for ever
  /// on its own lock when another library is loaded before it, or refuses to start.
  static var isAvailable: Bool {
    library != nil && !Sanitizer.isOn
  }

  /// Starts one of the package's programs with this clock.
  ///
  /// The library makes what its processes share in the first of them and says so in the environment, which
  /// it thereby moves; a Swift program that starts with a moved environment does not find its arguments. So
  /// the first is the shell, which becomes the program.
  func start(_ name: String, _ arguments: [String], environment: [String: String]) throws -> Executable {
    let own = ["LD_PRELOAD": Self.library ?? "", "FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1"]
    return try Executable(
      name, arguments, environment: environment.merging(own) { $1 }, script: #"exec "$0" "$@""#)
  }

  /// Removes what the library leaves behind of a process that has ended.
  static func clean(after processID: Int32) {
    for name in ["faketime_shm_\(processID)", "sem.faketime_sem_\(processID)"] {
      try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)")
    }
  }

  /// That a program's log really has the wrong time: without this no test here would say anything.
  func expectWrong(_ log: String, _ location: SourceLocation = #_sourceLocation) throws {
    let prefix = #"{"time":""#
    let line = try #require(log.split(separator: "\n").first { $0.hasPrefix(prefix) })
    let text = line.dropFirst(prefix.count).prefix(19) + "Z"
    let time = try Date(String(text), strategy: .iso8601)
    #expect(abs(time.timeIntervalSinceNow) > 2 * 86_400, "\(text)", sourceLocation: location)
  }
}
