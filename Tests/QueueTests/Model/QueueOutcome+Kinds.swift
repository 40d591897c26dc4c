import QueueTestSupport

extension QueueOutcome {
  /// What kinds of answers it holds, for a count of what histories reach.
  func kinds(of operation: QueueOperation) -> [String] {
    switch (operation, self) {
    case (.submit, .answers(let answers)): answers.map { $0.reason ?? $0.outcome }
    case (.claim, .claimed(let jobs)):
      jobs.map {
        $0.isExpired ? "claimed expired" : QueueModel.isQuarantine($0.lane) ? "claimed alone" : "claimed"
      }
    case (.complete(_, _, let given), .held(let stored)): stored.map { _ in "stored" } + stale(given, stored)
    case (.release(_, _, let given, _), .held(let taken)):
      taken.map { _ in "released" } + stale(given, taken)
    case (.fail, .verdicts(let verdicts)): verdicts.values.map { "failed: \($0)" }
    case (.cancel, .verdicts(let verdicts)): verdicts.values.map { "cancel: \($0)" }
    case (.retryDead, .verdicts(let verdicts)): verdicts.values.map { "retry: \($0)" }
    case (.uncancel, .verdicts(let verdicts)): verdicts.values.map { "uncancel: \($0)" }
    case (.rescue, .rescued(let rescued)):
      (rescued.requeued > 0 ? ["rescued"] : []) + (rescued.dead > 0 ? ["rescued dead"] : [])
    case (.promote, .count(let count)): count > 0 ? ["promoted"] : []
    case (.applyRefunds, .count(let count)): count > 0 ? ["refunds applied"] : []
    case (.tick, .marks(let marks)): marks.values.contains { $0 > 0 } ? ["mark published"] : []
    case (.heartbeat, .held(let leases)): leases.isEmpty ? [] : ["kept alive"]
    default: []
    }
  }

  private func stale(_ given: [Int64], _ taken: Set<Int64>) -> [String] {
    given.contains { !taken.contains($0) } ? ["stale"] : []
  }
}
