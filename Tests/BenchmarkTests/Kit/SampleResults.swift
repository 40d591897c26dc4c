import BenchmarkKit

/// A row's result of which every part is known.
enum SampleResults {
  static let drain = RowResult(
    name: "drain", sentence: "claim and complete", headline: .rate(of: "jobs"),
    contenders: [
      ContenderResult(
        name: "500 a batch", part: .ours,
        samples: [
          Sample(
            amount: 1000, seconds: 0.5, workerSeconds: 0.001, serverSeconds: 0.01, peakMemory: 20_000_000,
            further: ["wal_bytes_per_job": 400]),
          Sample(
            amount: 1000, seconds: 0.25, workerSeconds: 0.003, serverSeconds: 0.01, peakMemory: 22_000_000,
            further: ["wal_bytes_per_job": 420]),
          Sample(
            amount: 1000, seconds: 1, workerSeconds: 0.002, serverSeconds: 0.02, peakMemory: 21_000_000,
            further: ["wal_bytes_per_job": 410]),
        ]),
      ContenderResult(name: "pgbench", part: .limit, samples: [Sample(amount: 1000, seconds: 0.1)]),
      ContenderResult(name: "pgqueuer", part: .peer, failure: "It is not installed."),
    ])

  static let latency = RowResult(
    name: "latency", sentence: "submit to start", headline: .figure("p50_ms", unit: "ms"),
    contenders: [
      ContenderResult(
        name: "ours", part: .ours,
        samples: [Sample(amount: 300, seconds: 1, further: ["p50_ms": 2, "p99_ms": 5.5])]),
      ContenderResult(
        name: "pgqueuer", part: .peer,
        samples: [Sample(amount: 300, seconds: 1, further: ["p50_ms": 5, "p99_ms": 9], version: "1.6.0")]),
    ])
}
