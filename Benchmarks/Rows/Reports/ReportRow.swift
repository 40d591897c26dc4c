import BenchmarkKit
import Foundation
import PostgreSQL
import TestSupport

/// A month's reports by `analysisctl`: its analyses as CSV beside `psql` with the same rows; and what counts over all of
/// them.
struct ReportRow: BenchmarkRow {
  let name = "report"
  let sentence =
    "seconds from the start of a program to its end in which a month's analyses are written to a CSV file, or all that "
    + "was used in it is counted"
  let headline = Headline.figure("seconds", unit: "s")

  private static let rows = 5_000_000
  private static let quickRows = 5000

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let database = try await bench.cluster.freshDatabase(named: name)
    let month = try await PlantedMonth.plant(
      bench.givenSize(Self.rows, quick: Self.quickRows), in: database.pool)
    try await bench.cluster.settle(database)
    return [
      Contender("psql \\copy of the same rows", .limit) {
        try await Self.copy($0, database, month, syncs: false)
      },
      Contender("analysisctl report analyses") {
        try await Self.report("analyses", of: month.rows, $0, database, month)
      },
      Contender("psql \\copy, then sync of the file", .limit) {
        try await Self.copy($0, database, month, syncs: true)
      },
      Contender("analysisctl report usage") {
        try await Self.report("usage", of: month.users, $0, database, month)
      },
      Contender("analysisctl report usage --prices") {
        try await Self.report("usage", "--prices", of: month.users, $0, database, month)
      },
      Contender("analysisctl report summary") {
        try await Self.report("summary", of: 1, $0, database, month)
      },
      Contender("analysisctl reconcile") {
        try await Self.run(
          $0, month, $0.settings.program("analysisctl"),
          ["reconcile", "--database", database.conninfo, "--month", "\(month.month)"])
      },
    ]
  }

  private static func report(
    _ report: String, _ options: String..., of rows: Int, _ bench: Bench, _ database: BenchmarkDatabase,
    _ month: PlantedMonth
  ) async throws -> Sample {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let file = folder.path("\(report).csv")
    return try await run(
      bench, month, bench.settings.program("analysisctl"),
      [
        "report", report, "--database", database.conninfo, "--month", "\(month.month)", "--format", "csv",
        "--out", file,
      ] + options, writes: (file, rows))
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
    return try await run(
      bench, month, bench.cluster.program("psql"), arguments, writes: (file, month.rows))
  }

  /// - Parameter writes: The file that has to be there, and how many rows it has.
  private static func run(
    _ bench: Bench, _ month: PlantedMonth, _ program: String, _ arguments: [String],
    writes: (file: String, rows: Int)? = nil
  ) async throws -> Sample {
    _ = try await bench.cluster.owner.query("CHECKPOINT", deadline: .seconds(1800))
    let (ended, meter) = try await bench.cluster.metered {
      try await MeasuredProcess.run(program, arguments)
    }
    var further = ["seconds": meter.seconds]
    if let writes {
      let bytes = try FileManager.default.attributesOfItem(atPath: writes.file)[.size] as? Int ?? 0
      guard bytes > writes.rows * 20 else {
        throw BenchmarkError(
          "The file of \(writes.rows) rows has \(bytes) bytes only; see \(program)'s messages")
      }
      further["file_bytes"] = Double(bytes)
    }
    return Sample(
      amount: Double(month.rows), seconds: meter.seconds, workerSeconds: ended.usage.seconds,
      serverSeconds: meter.serverSeconds, peakMemory: ended.usage.peakMemory,
      further: further)
  }
}
