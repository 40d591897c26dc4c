import BenchmarkKit
import Foundation
import TestSupport

/// `pgbench`, which comes with PostgreSQL: the limit that a row is set against.
struct BenchmarkTool {
  let bench: Bench

  /// Runs a script of `pgbench` so many times and meters it.
  ///
  /// - Parameters:
  ///   - perTransaction: What one run of the script does.
  ///   - clients: Connections at once; the transactions are divided among them.
  func sample(
    script: String, transactions: Int, perTransaction: Int, clients: Int = 1, in database: BenchmarkDatabase
  ) async throws -> Sample {
    let folder = try TemporaryFolder()
    let file = folder.path("script.sql")
    try Data(script.utf8).write(to: URL(fileURLWithPath: file))
    let program = try bench.cluster.program("pgbench")
    let each = max(1, transactions / clients)
    let (ended, meter) = try await bench.cluster.metered {
      try await MeasuredProcess.run(
        program,
        [
          "--no-vacuum", "--protocol=prepared", "--client=\(clients)", "--transactions=\(each)",
          "--file=\(file)", database.conninfo,
        ])
    }
    let amount = Double(each * clients * perTransaction)
    return Sample(
      amount: amount, seconds: try Self.seconds(ended.output, transactions: each * clients),
      workerSeconds: ended.usage.seconds, serverSeconds: meter.serverSeconds,
      peakMemory: ended.usage.peakMemory, further: ["wal_bytes_per_job": meter.logBytes / amount])
  }

  /// How long it took without connecting, from the rate that it prints.
  static func seconds(_ output: String, transactions: Int) throws -> Double {
    for line in output.split(separator: "\n") where line.hasPrefix("tps = ") {
      if let rate = line.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }), rate > 0 {
        return Double(transactions) / rate
      }
    }
    throw BenchmarkError("pgbench did not say its rate: \(output.suffix(500))")
  }
}
