import BenchmarkKit
public import CommandLineTool
import EventLoop
import Foundation
import Support

/// The command line of the benchmarks.
public enum BenchmarkCommand {
  static let peers = Flag("peers", help: "Other queues beside us, as far as they are installed.")
  static let onlyPeers = Option<String?>(
    "only-peers", .string, valueName: "PEER[,PEER]", help: "These other queues beside us, and no others.")
  static let quick = Flag("quick", help: "Tiny sizes, one run: shows only that everything works.")
  static let only = Option<String?>("only", .string, valueName: "ROW[,ROW]", help: "These rows alone.")
  static let runs = Option<Int?>(
    "runs", .int(in: 1...99), help: "Runs of each contender; else 3, or 1 when quick.")
  static let size = Option<Int?>(
    "size", .int(in: 100...1_000_000_000),
    help: "Jobs (or rows of report) of each row that takes long; else as many as each has by itself.")
  static let json = Option<String?>("json", .path, help: "A file that gets everything as JSON.")
  static let list = Flag("list", help: "Name the rows, and run nothing.")

  /// The command.
  public static let command = Command(
    "benchmarks",
    abstract: "Measures the queue beside what the machine gives without one, and beside other queues.",
    discussion: """
      It starts a PostgreSQL cluster of its own, durable, and an endpoint where one is needed. The contenders of a \
      row take turns, and what is shown is the median of their runs with the least and the greatest: a machine \
      drifts, so only what was measured in one run is to be compared.
      """,
    examples: [
      Example("scripts/bench --only drain", "One row."),
      Example("scripts/bench --peers --json results.json", "Everything, into a file too."),
      Example("scripts/bench --quick", "Shows that it works; its figures mean nothing."),
    ],
    inputs: [peers, onlyPeers, quick, only, runs, size, json, list],
    subcommands: [DriveCommand.command, DayCommand.command],
    exitCodes: [.done, .jobFailed, .usage, .internalError, .tryLater],
    run: run)

  @Sendable
  private static func run(_ context: Context) async throws -> ExitCode {
    let rows = try rows(context.values[only])
    guard try !context.values[list] else {
      for row in rows { try context.console.print("\(row.name): \(row.sentence)") }
      return .done
    }
    Signals.ignoreBrokenPipe()
    let console = context.console
    let stops = try Signals.stream(of: [.terminate, .interrupt])
    let stopper = Task {
      for await _ in stops {
        // The cluster is ended by its own guard; nobody else would end the other programs.
        ProgramsUnderTest.killAll()
        console.say("benchmarks: stopped before their end")
        exit(ExitCode.tryLater.code)
      }
    }
    defer { stopper.cancel() }
    let file = try await measure(rows, try settings(context), context)
    if let path = try context.values[json] { try file.data().write(to: URL(fileURLWithPath: path)) }
    return file.isWhole ? .done : .jobFailed
  }

  private static func measure(
    _ rows: [any BenchmarkRow], _ settings: BenchmarkSettings, _ context: Context
  ) async throws -> ResultFile {
    let console = context.console
    let loop = try EventLoop(name: "benchmarks")
    defer { loop.shutdown() }
    let cluster = try await BenchmarkCluster.start(
      on: loop, isQuick: settings.isQuick, keepsStatements: rows.contains(where: \.keepsStatements))
    var results: [RowResult] = []
    var facts: MachineFacts?
    do {
      facts = try await MachineFacts(cluster: cluster, swift: context.environment["BENCHMARKS_SWIFT"] ?? "")
      if let facts { try console.print(facts.text) }
      for peer in settings.peers?.leftOut ?? [] {
        try console.print("The peer \(peer) is left out: it could not be built.")
      }
      let bench = Bench(cluster: cluster, settings: settings, loop: loop) { console.say($0) }
      for row in rows {
        let result = await BenchmarkRunner(bench).run(row)
        results.append(result)
        try console.print("\n" + ResultTable.text(result).dropLast())
      }
    } catch {
      await cluster.remove()
      throw error
    }
    await cluster.remove()
    return ResultFile(machine: facts, settings: settings, rows: results)
  }

  private static func settings(_ context: Context) throws -> BenchmarkSettings {
    let isQuick = try context.values[quick]
    var settings = BenchmarkSettings(isQuick: isQuick, runs: try context.values[runs] ?? (isQuick ? 1 : 3))
    settings.size = try context.values[size]
    let wanted = try peerNames(try context.values[onlyPeers])
    if try wanted != nil || context.values[peers] {
      guard let python = context.environment["BENCHMARKS_PYTHON"],
        let program = context.environment["BENCHMARKS_PEERS"]
      else {
        throw CommandFailure(
          .usage, "The peers are not installed.", advice: "Run `scripts/bench --peers`, which installs them.")
      }
      settings.peers = PeerProgram(
        python: python, program: program, wanted: wanted ?? PeerProgram.names,
        missing: separated(context.environment["BENCHMARKS_PEERS_LEFT_OUT"] ?? ""))
    }
    return settings
  }

  private static func rows(_ names: String?) throws -> [any BenchmarkRow] {
    guard let names else { return AllRows.list }
    let wanted = separated(names)
    for name in wanted where !AllRows.list.contains(where: { $0.name == name }) {
      let known = AllRows.list.map(\.name).joined(separator: ", ")
      throw CommandFailure(.usage, "There is no row \(name).", advice: "There are: \(known).")
    }
    return AllRows.list.filter { wanted.contains($0.name) }
  }

  private static func peerNames(_ names: String?) throws -> [String]? {
    guard let names else { return nil }
    let wanted = separated(names)
    for name in wanted where !PeerProgram.names.contains(name) {
      let known = PeerProgram.names.joined(separator: ", ")
      throw CommandFailure(.usage, "There is no peer \(name).", advice: "There are: \(known).")
    }
    return wanted
  }

  private static func separated(_ names: String) -> [String] { names.split(separator: ",").map(String.init) }
}
