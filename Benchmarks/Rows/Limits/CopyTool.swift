import BenchmarkKit
import Foundation
import TestSupport

/// `psql` with `\copy`: the fastest way into a table that there is.
struct CopyTool {
  let bench: Bench

  /// Copies rows from a file into the table `bare`, column `payload`.
  func copy(rows: Int, into database: BenchmarkDatabase) async throws -> Sample {
    let folder = try TemporaryFolder()
    let file = folder.path("rows.txt")
    try Data(String(repeating: "{\"image\": 17}\n", count: rows).utf8).write(to: URL(fileURLWithPath: file))
    let program = try bench.cluster.program("psql")
    let (ended, meter) = try await bench.cluster.metered {
      try await MeasuredProcess.run(
        program,
        [
          "--no-psqlrc", "--set=ON_ERROR_STOP=1", "-d", database.conninfo, "-c",
          "\\copy bare (payload) from '\(file)'",
        ])
    }
    guard try await database.number("SELECT count(*) FROM bare") == rows else {
      throw BenchmarkError("psql did not copy all rows: \(ended.errors.suffix(500))")
    }
    // Starting psql and connecting are in it: some hundredths of a second.
    return Sample(
      amount: Double(rows), seconds: meter.seconds, workerSeconds: ended.usage.seconds,
      serverSeconds: meter.serverSeconds, peakMemory: ended.usage.peakMemory,
      further: ["wal_bytes_per_job": meter.logBytes / Double(rows)])
  }
}
