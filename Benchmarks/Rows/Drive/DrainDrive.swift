import BenchmarkKit
import CommandLineTool
import EventLoop
import PostgreSQL
import Support

/// `benchmarks drive drain`: a worker without a model, which claims jobs and stores a result of each at once.
enum DrainDrive {
  static let batch = Option<Int>("batch", .int(in: 1...10_000), default: 100, help: "Jobs in a claim.")
  static let workers = Option<Int>(
    "workers", .int(in: 1...16), default: 1, help: "As many workers do, each on two connections of its own.")
  static let jobs = Option<Int?>(
    "jobs", .int(in: 1...100_000_000), help: "How many; else until none is left.")
  static let whole = Flag(
    "whole", help: "Whole analyses of three conditions instead of the smallest results.")

  static let command = Command(
    "drain", abstract: "Claims and completes jobs.",
    inputs: [DriveCommand.database, batch, workers, jobs, whole], run: run)

  @Sendable
  private static func run(_ context: Context) async throws -> ExitCode {
    let values = context.values
    let conninfo = try DriveCommand.conninfo(context)
    let count = try values[workers]
    let limit = try values[jobs].map { ($0 + count - 1) / count }
    let size = try values[batch]
    let analyses = SampleAnalyses(isWhole: try values[whole])
    let loop = try EventLoop(name: "drain")
    defer { loop.shutdown() }
    var drains: [QueueDrain] = []
    for _ in 0..<count {
      drains.append(try await .connected(to: conninfo, on: loop, batch: size, analyses: analyses))
    }
    let report = try await DriveCommand.report {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for drain in drains {
          group.addTask { try await drain.run(atMost: limit) }
        }
        return try await group.reduce(0, +)
      }
    }
    for connection in drains.flatMap(\.connections) { await connection.close() }
    try context.console.print(report.line())
    return .done
  }
}
