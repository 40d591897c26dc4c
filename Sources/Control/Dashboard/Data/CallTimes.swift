import Queue

/// How long calls of each endpoint took, of those that ended within the last minute.
///
/// Workers say how many calls have ended since they started and how long those took together; what lies between two
/// of their reports is what happened meanwhile.
struct CallTimes: Sendable {
  private struct Total {
    var calls = 0
    var seconds = 0.0
  }

  private struct Reading {
    let at: ContinuousClock.Instant
    /// By endpoint and worker.
    let totals: [String: [Int64: Total]]
  }

  private static let span = Duration.seconds(60)
  private var readings: [Reading] = []

  /// Takes note of what the workers say.
  mutating func add(_ workers: [QueueStatus.WorkerStatus], at now: ContinuousClock.Instant) {
    var totals: [String: [Int64: Total]] = [:]
    for worker in workers where worker.state == .alive {
      for endpoint in worker.report?.endpoints ?? [] {
        guard let calls = endpoint.calls, let seconds = endpoint.callSeconds else { continue }
        totals[endpoint.name, default: [:]][worker.id] = Total(calls: calls, seconds: seconds)
      }
    }
    // The last one that is older than the span is what the span begins with.
    while readings.count > 1, now - readings[1].at >= Self.span { readings.removeFirst() }
    readings.append(Reading(at: now, totals: totals))
  }

  /// The mean in seconds; of calls since the workers started where nothing was heard before. Nil where no call ended.
  func mean(of endpoint: String) -> Double? {
    guard let last = readings.last?.totals[endpoint] else { return nil }
    let first = readings.count > 1 ? readings[0].totals[endpoint] ?? [:] : [:]
    var sum = Total()
    for (worker, total) in last {
      let before = first[worker] ?? Total()
      sum.calls += max(0, total.calls - before.calls)
      sum.seconds += max(0, total.seconds - before.seconds)
    }
    return sum.calls > 0 ? sum.seconds / Double(sum.calls) : nil
  }
}
