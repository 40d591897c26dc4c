import BenchmarkKit
import CommandLineTool

/// `benchmarks drive …`: one piece of work in a process of its own, so that what it uses can be told apart. It ends
/// with one line of JSON, a ``BenchmarkKit/ProgramReport``.
enum DriveCommand {
  static let command = Command(
    "drive", abstract: "Does one piece of work and reports on it; the benchmarks start it themselves.",
    subcommands: [DrainDrive.command, EnqueueDrive.command], hidden: true)

  /// What all of them are told: where the database is.
  static let database = Option<String?>("database", .string, help: "The database's connection string.")

  /// The connection string.
  static func conninfo(_ context: Context) throws -> String {
    guard let conninfo = try context.values[database] else {
      throw CommandFailure(.usage, "A database is to be named.", advice: "Give --database.")
    }
    return conninfo
  }

  /// Does something with the clock and the processors metered, and reports so many jobs.
  static func report(_ body: () async throws -> Int) async throws -> ProgramReport {
    let before = OwnUsage()
    let begin = ContinuousClock.now
    let jobs = try await body()
    let time = ContinuousClock.now - begin
    let after = OwnUsage()
    return ProgramReport(
      amount: Double(jobs), seconds: time / .seconds(1), workerSeconds: after.seconds - before.seconds,
      peakMemory: after.peakMemory)
  }
}
