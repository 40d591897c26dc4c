import BenchmarkKit
import Foundation
import PostgreSQL
import TestSupport

/// A month's analyses as CSV, by `analysisctl report` beside `psql` with the same rows.
struct ReportRow: BenchmarkRow {
  let name = "report"
  let sentence =
    "seconds from the start of a program to its end in which a month's analyses are written to a CSV file"
  let headline = Headline.figure("seconds", unit: "s")

  private static let rows = 5_000_000
  private static let quickRows = 5000

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let database = try await bench.cluster.freshDatabase(named: name)
    let month = try await PlantedMonth.plant(
      bench.givenSize(Self.rows, quick: Self.quickRows), in: database.pool)
    try await Self.close(bench, database, month)
    try await bench.cluster.settle(database)
    return [
      Contender("psql \\copy of the same rows", .limit) {
        try await Self.copy($0, database, month, syncs: false)
      },
      Contender("analysisctl report analyses") { try await Self.report($0, database, month) },
      Contender("psql \\copy, then sync of the file", .limit) {
        try await Self.copy($0, database, month, syncs: true)
      },
    ]
  }

  /// Closes the month as its statement of usage does, so that nobody has to ask whether jobs of it are still open.
  private static func close(_ bench: Bench, _ database: BenchmarkDatabase, _ month: PlantedMonth) async throws
  {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    _ = try await MeasuredProcess.run(
      bench.settings.program("analysisctl"),
      [
        "report", "usage", "--database", database.conninfo, "--month", "\(month.month)", "--out",
        folder.path("usage.csv"),
      ])
  }

  private static func report(_ bench: Bench, _ database: BenchmarkDatabase, _ month: PlantedMonth)
    async throws -> Sample
  {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let file = folder.path("analyses.csv")
    return try await run(
      bench, month, file, bench.settings.program("analysisctl"),
      [
        "report", "analyses", "--database", database.conninfo, "--month", "\(month.month)", "--format", "csv",
        "--out", file,
      ])
  }

  /// - Parameter syncs: Whether the file is brought to the disk before the end, as `analysisctl` does with its own.
  private static func copy(
    _ bench: Bench, _ database: BenchmarkDatabase, _ month: PlantedMonth, syncs: Bool
  ) async throws -> Sample {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let file = folder.path("analyses.csv")
    var arguments = [
      "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.conninfo, "-c", "SET jit = off", "-c",
      try AnalysesQuery.copy(month.month, to: file),
    ]
    if syncs { arguments += ["-c", "\\! sync '\(file)'"] }
    return try await run(bench, month, file, bench.cluster.program("psql"), arguments)
  }

  private static func run(
    _ bench: Bench, _ month: PlantedMonth, _ file: String, _ program: String, _ arguments: [String]
  ) async throws -> Sample {
    _ = try await bench.cluster.owner.query("CHECKPOINT", deadline: .seconds(1800))
    let (ended, meter) = try await bench.cluster.metered {
      try await MeasuredProcess.run(program, arguments)
    }
    let bytes = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
    guard bytes > month.rows * 20 else {
      throw BenchmarkError(
        "The file of \(month.rows) rows has \(bytes) bytes only; see \(program)'s messages")
    }
    return Sample(
      amount: Double(month.rows), seconds: meter.seconds, workerSeconds: ended.usage.seconds,
      serverSeconds: meter.serverSeconds, peakMemory: ended.usage.peakMemory,
      further: ["file_bytes": Double(bytes), "seconds": meter.seconds])
  }
}
