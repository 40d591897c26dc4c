import Support

/// What is measured when the faults have ended and the queue is empty.
struct CalmChecks {
  /// What was seen.
  struct Facts: Sendable, Equatable {
    /// Jobs that were scheduled, came to run and were then cancelled.
    var cancelled = 0
    /// How many rows of the queue the workers read afterwards to come to the few jobs that were submitted then.
    var rowsRead = 0
    /// The priorities of jobs that all waited when one worker began, in the order in which they were done.
    var order: [Priority] = []
    /// How many jobs of each priority waited.
    var ofEach = 0
  }

  let facts: Facts
  /// How often a user with nothing open was refused for what they had waiting.
  let refusedWaiting: Int

  func findings() -> [Finding] {
    [
      Finding("I13 claims", "what was cancelled costs later claims nothing", broken: costs),
      Finding("I14 waiting", "who has nothing open is never refused for waiting", broken: refusals),
      Finding("I15 shares", "each priority gets its share whatever the others do", broken: starved),
    ]
  }

  /// Each cancelled job may be looked at once and dropped, and its dead row be met once or twice. Where claims begin anew
  /// from the same place it is ten times as many.
  private static let readsOfEach = 3
  /// What workers look at in any case.
  private static let readsOfWorkers = 3000

  private var costs: [String] {
    guard facts.cancelled > 0 else { return ["nothing was cancelled, so nothing was measured"] }
    let most = facts.cancelled * Self.readsOfEach + Self.readsOfWorkers
    return facts.rowsRead > most
      ? [
        "\(facts.rowsRead) rows were read after \(facts.cancelled) jobs were cancelled; at most \(most) are to be"
      ]
      : []
  }

  private var refusals: [String] {
    refusedWaiting > 0 ? ["\(refusedWaiting) jobs of a user who had nothing open were refused"] : []
  }

  /// Of eight claims urgent jobs begin five, normal ones two and bulk ones one. Half of that is asked for, of the first
  /// jobs that were done: as many as there are of each, so that no priority had come to its end before.
  private var starved: [String] {
    guard facts.ofEach > 0, facts.order.count >= facts.ofEach else {
      return ["\(facts.order.count) jobs were done, so nothing was measured"]
    }
    let first = facts.order.prefix(facts.ofEach)
    return [(Priority.urgent, 5), (.normal, 2), (.bulk, 1)].compactMap { priority, share in
      let count = first.count { $0 == priority }
      return count * 16 < first.count * share
        ? "\(count) of the first \(first.count) jobs were \(priority), instead of \(first.count * share / 8)"
        : nil
    }
  }
}
