import Foundation

@testable import BenchmarkDay

/// Costs, machines and results with round figures, of which everything that is computed can be checked by hand.
enum SampleDay {
  /// A thousandth of a core and a million bytes a job, half of it for the submit.
  static let costs = JobCosts(
    submit: JobCosts.Part(serverSeconds: 0.0005, logBytes: 500_000),
    work: JobCosts.Part(serverSeconds: 0.0005, logBytes: 500_000),
    workerSeconds: 0.001, imageBytes: 100_000, images: .database)

  /// 8,000 jobs a second by its processors, 1,000 by its log, 10,000 by its network.
  static let machine = Machine(
    cores: 8, logBytesPerSecond: 1e9, networkBytesPerSecond: 1e9, connections: 600)

  /// 64 jobs a second each.
  static let fleet = WorkerFleet(inFlight: 64, callSeconds: 1)

  static let whole = row(
    "whole-job-50ms",
    contender("64 in flight", [run(1000, worker: 0.2, server: 0.5, log: 2000)]),
    contender("256 in flight", [run(1000, worker: 9, server: 9, log: 9)]))

  static let one = row("enqueue-one", contender("submit", [run(100, worker: 1, server: 0.1, log: 1500)]))

  static let bulk = row(
    "enqueue-bulk", contender("1000 a call", [run(1000, worker: 1, server: 0.1, log: 800)]),
    contender(
      "with 120 kB each, 64 a call",
      [
        run(100, worker: 1, server: 0.09, log: 131_000), run(100, worker: 1, server: 0.05, log: 130_000),
        run(100, worker: 1, server: 0.06, log: 129_000),
      ]))

  static let store = row(
    "image-store", contender("in the database", [run(1000, worker: 1, server: 1, log: 1)]),
    contender(
      "in the object store",
      [
        run(1000, worker: 0.3, server: 1, log: 1).replacing(
          "{\"wal",
          with: """
            {"server_for_work_us": 40, "wal_bytes_of_work": 1700, "server_for_submit_us": 160,
             "wal_bytes_of_submit": 1800, "store_for_submit_us": 400, "store_for_work_us": 100, "wal
            """)
      ]))

  static func results(_ rows: String...) throws -> MeasuredResults {
    try MeasuredResults(
      Data("{\"settings\": {\"quick\": false, \"runs\": 3}, \"rows\": [\(rows.joined(separator: ","))]}".utf8)
    )
  }

  static func row(_ name: String, _ contenders: String...) -> String {
    "{\"name\": \"\(name)\", \"contenders\": [\(contenders.joined(separator: ","))]}"
  }

  static func contender(_ name: String, _ runs: [String]) -> String {
    "{\"name\": \"\(name)\", \"part\": \"ours\", \"samples\": [\(runs.joined(separator: ","))]}"
  }

  static func run(_ jobs: Int, worker: Double, server: Double, log: Double) -> String {
    """
    {"amount": \(jobs), "seconds": 1, "worker_seconds": \(worker), "server_seconds": \(server),
     "further": {"wal_bytes_per_job": \(log)}}
    """
  }
}
