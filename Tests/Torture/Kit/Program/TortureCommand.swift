public import CommandLineTool
import Foundation
import Support

/// The command line of the torture run.
public enum TortureCommand {
  static let seed = Option<Int>(
    "seed", .int(in: 0...Int(Int32.max)), default: 1, help: "Decides which fault comes when, and on whom.")
  static let minutes = Option<Int>(
    "minutes", .int(in: 1...600), default: 1,
    help: "How long faults are caused; drain and checks come on top.")
  static let only = Option<String?>(
    "only", .string, valueName: "FAULT[,FAULT]",
    help:
      "Only these kinds, or groups of them: worker, death, server, connection, endpoint, operation, transaction, stress."
  )
  static let workers = Option<Int>(
    "workers", .int(in: 1...32), default: 3, help: "Workers that are kept running.")
  static let shards = Option<Int?>(
    "shards", .int(in: 1...64), help: "Logical shards. (default: 1, 4 or 8, as the seed says)")
  static let list = Flag("list", help: "Show the schedule, and run nothing.")
  static let keep = Flag("keep", help: "Keep the folder with the logs also when all is well.")

  /// The command.
  public static let command = Command(
    "torture",
    abstract:
      "Submits jobs to real workers, strikes everything with faults, and checks that nothing is lost.",
    discussion: """
      It has a PostgreSQL cluster, an endpoint and workers of its own. Leases last one second instead of fifteen, so \
      that many are lost in a short time. When the time is over the faults end, the queue is drained, and everything \
      that was promised is checked from the database and from the endpoint's own log.

      Which fault comes when and on whom follows from the seed alone; how the programs run beside it does not, so a \
      run that broke something is repeated with its seed, but need not break the same again: the folder with its \
      logs is kept. What the endpoint answers wrongly on its own account is counted from its log.
      """,
    examples: [
      Example("scripts/torture --minutes 10 --seed 7", "A long run."),
      Example("scripts/torture --only worker,endpoint-frozen --keep", "Some kinds only; the logs stay."),
      Example("scripts/torture --list --seed 7", "What would be done when."),
    ],
    inputs: [seed, minutes, only, workers, shards, list, keep],
    exitCodes: [.done, .jobFailed, .usage, .internalError, .tryLater],
    run: run)

  @Sendable
  private static func run(_ context: Context) async throws -> ExitCode {
    let settings = try settings(context.values)
    guard try !context.values[list] else {
      let schedule = Schedule(seed: settings.seed, length: settings.length, kinds: settings.kinds)
      for event in schedule.events { try context.console.print(words(event)) }
      return .done
    }
    Signals.ignoreBrokenPipe()
    try FileManager.default.createDirectory(at: settings.folder, withIntermediateDirectories: true)
    let console = context.console
    try console.print(
      """
      Torture: seed \(settings.seed), \(try context.values[minutes]) min, \(settings.kinds.count) kinds of faults besides \
      the endpoint's answers, \(settings.workers) workers\(settings.isSpecialised ? " of one type of job each" : ""), \
      \(settings.shards) shards, leases of 1 s instead of 15 s, \(build) build
      """)
    let programs = ProgramRunner(settings)
    let stops = try Signals.stream(of: [.terminate, .interrupt])
    let stopper = Task {
      for await _ in stops {
        // The cluster is ended by its own guard; nobody else would end the workers.
        programs.killAll()
        console.say("torture: stopped before its end; the logs are in \(settings.folder.path)")
        exit(ExitCode.tryLater.code)
      }
    }
    defer { stopper.cancel() }
    let run = TortureRun(settings: settings, programs: programs) { line in try? console.print(line) }
    let verdict = try await run.run()
    try console.print("\n" + verdict.text)
    return try conclude(verdict, settings, console)
  }

  private static func conclude(_ verdict: Verdict, _ settings: RunSettings, _ console: Console) throws
    -> ExitCode
  {
    guard verdict.broken.isEmpty else {
      let names = verdict.broken.map(\.rule).joined(separator: ", ")
      try console.print(
        """
        Broken: \(names). The logs are in \(settings.folder.path).
        Again: scripts/torture --seed \(settings.seed) --minutes \(Int(settings.length / .seconds(60)))
        """)
      return .jobFailed
    }
    if settings.keepsFolder {
      try console.print("The logs are in \(settings.folder.path).")
    } else {
      try? FileManager.default.removeItem(at: settings.folder)
    }
    try console.print("Seed \(settings.seed): everything holds.")
    return .done
  }

  private static func settings(_ values: Values) throws -> RunSettings {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    var settings = RunSettings(
      folder: FileManager.default.temporaryDirectory.appending(
        path: "torture-\(UUID().uuidString.prefix(8))"),
      programs: own)
    settings.seed = UInt64(try values[seed])
    settings.length = .seconds(60 * (try values[minutes]))
    settings.workers = try values[workers]
    if let count = try values[shards] { settings.shards = count }
    settings.keepsFolder = try values[keep]
    if let names = try values[only] { settings.kinds = try kinds(names) }
    return settings
  }

  private static func kinds(_ names: String) throws -> [FaultKind] {
    var kinds: Set<FaultKind> = []
    for name in names.split(separator: ",").map(String.init) {
      let meant = FaultKind.named(name)
      guard !meant.isEmpty else {
        let known = FaultKind.all.map(\.name).joined(separator: ", ")
        throw CommandFailure(.usage, "There is no fault \(name).", advice: "There are: \(known).")
      }
      kinds.formUnion(meant)
    }
    return FaultKind.all.filter { kinds.contains($0) }
  }

  private static func words(_ event: FaultEvent) -> String {
    let milliseconds = Int(event.time / .milliseconds(1))
    let digits = String(1000 + milliseconds % 1000).dropFirst()
    return "\(milliseconds / 1000).\(digits) s  \(event.kind.name)"
  }

  private static var build: String {
    #if DEBUG
      "debug"
    #else
      "release (without the deaths at failpoints)"
    #endif
  }
}
