/// The runs of one contender, each with at least one job.
struct MeasuredContender {
  let row: String
  let name: String
  let runs: [MeasuredResults.Run]
  /// What to run when a figure is missing.
  let advice: String

  /// Where its figures come from.
  var source: String { "\(row): \(name)" }

  /// What a job costs the server, the median of the runs.
  func part() throws -> JobCosts.Part {
    JobCosts.Part(
      serverSeconds: try median("processor time of the server") { run in
        run.serverSeconds.map { $0 / run.amount }
      },
      logBytes: try median("write-ahead log") { $0.further["wal_bytes_per_job"] })
  }

  /// What a step of a job costs the server, in a row that tells submit and work apart; the median of the runs.
  func part(of step: String) throws -> JobCosts.Part {
    JobCosts.Part(
      serverSeconds: try median("processor time of the server for the \(step)") {
        $0.further["server_for_\(step)_us"].map { $0 / 1_000_000 }
      },
      logBytes: try median("write-ahead log of the \(step)") { $0.further["wal_bytes_of_\(step)"] })
  }

  /// Seconds of the object store's processors for a job, the median of the runs; nil where there was none.
  var storeSeconds: Double? {
    Self.median(
      runs.compactMap { run in
        guard let submit = run.further["store_for_submit_us"], let work = run.further["store_for_work_us"]
        else { return nil }
        return (submit + work) / 1_000_000
      })
  }

  /// Seconds of the worker's processors for a job, the median of the runs.
  func workerSeconds() throws -> Double {
    try median("processor time of the worker") { run in run.workerSeconds.map { $0 / run.amount } }
  }

  /// Transactions of the worker for a job, the median of the runs; nil when they were not counted.
  var transactions: Double? { Self.median(runs.compactMap { $0.further["transactions_per_job"] }) }

  /// A median of zero is a run so short that the kernel's clock saw nothing of it: nothing can be computed from it.
  private func median(_ what: String, _ figure: (MeasuredResults.Run) -> Double?) throws -> Double {
    let middle = Self.median(runs.filter { $0.amount > 0 }.compactMap(figure)) ?? 0
    guard middle > 0, middle.isFinite else {
      throw CostsError(message: "\(source) has no \(what): the run was too short, or older.", advice: advice)
    }
    return middle
  }

  private static func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let half = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[half]
  }
}
