public import Foundation

/// What the benchmarks are told.
public struct BenchmarkSettings: Sendable {
  /// Whether sizes are tiny: a run that shows only that everything works.
  public var isQuick: Bool
  /// How often each contender is run.
  public var runs: Int
  /// How many jobs wait, or rows are reported, in the rows that take long; nil for what each has by itself.
  public var size: Int?
  /// The program that runs the peers; nil when they are left out.
  public var peers: PeerProgram?
  /// Where the programs under test lie: beside this one.
  public var programs: URL

  /// Settings; the programs are looked for in the folder of this one.
  public init(isQuick: Bool = false, runs: Int = 3, peers: PeerProgram? = nil) {
    self.isQuick = isQuick
    self.runs = runs
    self.peers = peers
    programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  /// The path of a program of this package.
  ///
  /// - Throws: ``BenchmarkError`` when it is not built.
  public func program(_ name: String) throws -> String {
    let path = programs.appending(path: name).path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw BenchmarkError("\(path) is missing; build it with `swift build -c release`.")
    }
    return path
  }
}
