import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

/// What may be done to the jobs of two users. Their jobs have their numbers in the other order than the users.
private enum Operation: String, CaseIterable {
  case submit, submitOne, submitNext, submitBoth, submitBatch, oneForHigh, retry, uncancel, cancel, eraseLow,
    eraseHigh, renameLow
  case renameHigh, setPeriod, release, promote, complete, die, failAgain, failLater, claim, rescue,
    applyRefunds
  case purgeDead, prepareMonths, indexImages

  /// What another operation is held up in the middle of; the others take what is free, or one row.
  static let blocking: [Operation] = [
    .submit, .submitOne, .submitNext, .submitBoth, .oneForHigh, .retry, .uncancel, .cancel, .eraseLow,
    .eraseHigh, .renameLow, .renameHigh, .setPeriod, .release, .promote,
  ]

  /// Whether it changes what a submit looks up of the lower user.
  var changesLow: Bool { [.eraseLow, .renameLow, .setPeriod].contains(self) }

  /// Whether it submits for the lower user.
  var submitsLow: Bool { rawValue.hasPrefix("submit") }

  func sql(_ stage: Stage) -> String {
    let next = "now() + interval '31 days'"
    switch self {
    case .submit: return stage.submit([stage.high, stage.low], image: "new")
    case .submitOne: return stage.submit([stage.low], image: "one")
    // No terms of the higher user are kept.
    case .oneForHigh: return stage.submit([stage.high], image: "one")
    case .submitNext: return stage.submit([stage.high, stage.low], image: "next", at: [next, next])
    case .submitBoth:
      return stage.submit(
        [stage.high, stage.low, stage.high, stage.low], image: "both", at: [next, "NULL", "NULL", next])
    case .submitBatch:
      return """
        SELECT analysis.submit_images('{\(stage.low),\(stage.high)}', '{throat,ear}',
          ARRAY[E'\\\\xffd8ff01', E'\\\\xffd8ff02']::bytea[], p_batch => analysis.open_batch('ward', '\(stage.name)'),
          p_references => '{one,two}')
        """
    case .retry: return "SELECT analysis.retry_dead(0::smallint, \(stage.list(stage.dead)))"
    case .uncancel: return "SELECT analysis.uncancel(0::smallint, \(stage.list(stage.cancelled)))"
    case .cancel:
      let jobs = stage.waiting + stage.dead + stage.leased + stage.cancelled
      return "SELECT analysis.cancel(0::smallint, \(stage.list(jobs)))"
    case .eraseLow: return "SELECT analysis.erase_user(0::smallint, '\(stage.low)', NULL, true)"
    case .eraseHigh: return "SELECT analysis.erase_user(0::smallint, '\(stage.high)', NULL, true)"
    case .renameLow: return "SELECT analysis.rename_user(0::smallint, '\(stage.low)', '\(stage.low) new')"
    case .renameHigh: return "SELECT analysis.rename_user(0::smallint, '\(stage.high)', '\(stage.high) new')"
    case .setPeriod: return "SELECT analysis.set_period(0::smallint, '\(stage.low)', 17::smallint, NULL)"
    case .release: return "SELECT analysis.release(0::smallint, sha256('1'), \(stage.held), 0)"
    case .promote: return "SELECT analysis.promote(0::smallint, 100)"
    case .complete:
      return """
        SELECT analysis.complete(0::smallint, sha256('1'), \(stage.held), '{a,b}', NULL, '{[],[]}', '{0,0}',
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{-1,-1}', '{-1,-1}', NULL, NULL, '{1,1}',
          '{5,5}', NULL, '{e,e}', 'test')
        """
    case .die: return stage.fail(after: "NULL")
    case .failAgain: return stage.fail(after: "0")
    case .failLater: return stage.fail(after: "1000")
    case .claim:
      return """
        SELECT analysis.claim(0::smallint, sha256('1'), \(stage.lease + 50), '{5}', '{0}', '{1000}', 1000, 60000)
        """
    case .rescue:
      return "UPDATE analysis.lease SET deadline = '-infinity'; SELECT analysis.rescue(0::smallint, 1000, 0)"
    case .applyRefunds: return "SELECT analysis.apply_refunds(0::smallint, 1000)"
    case .purgeDead:
      return "SELECT analysis.purge_dead(0::smallint, 0, 1000, now() + interval '30 months', false, true)"
    case .prepareMonths: return "SELECT analysis.prepare_months()"
    case .indexImages:
      return "SELECT analysis.index_images(min(period), now()) FROM analysis.partition_made"
    }
  }
}

/// Two users of their own with jobs in every state, the higher user's first.
private struct Stage {
  let name: String
  let low: String
  let high: String
  let numbers: [Int]
  let lease: Int64
  var dead: [Int64] = []
  var cancelled: [Int64] = []
  var leased: [Int64] = []
  var waiting: [Int64] = []

  init(_ queue: QueueFixture, _ count: Int) async throws {
    name = "s\(count)"
    lease = Int64(count) * 100
    for user in ["a", "b"] { try await queue.addUser("\(name)\(user)") }
    let users = try await queue.pool.query(
      "SELECT user_ref, user_id FROM analysis.account WHERE user_ref IN ('\(name)a', '\(name)b') ORDER BY user_id"
    )
    (low, high) = (try users[0].string(0), try users[1].string(0))
    numbers = [try users[0].int(1), try users[1].int(1)]
    dead = try await jobs(queue, "dead")
    _ = try await queue.claim(1000, lease: lease, lanes: [5])
    _ = try await queue.fail(dead, leases: [lease], delay: nil)
    cancelled = try await jobs(queue, "cancelled")
    _ = try await queue.cancel(cancelled)
    leased = try await jobs(queue, "leased")
    _ = try await queue.claim(1000, lease: lease + 10, lanes: [5])
    let later = try await jobs(queue, "later", at: try await queue.now(plus: 3600))
    try await queue.execute(
      "UPDATE analysis.scheduled SET run_at = '2000-01-01' WHERE job_id IN (\(later[0]), \(later[1]))")
    waiting = try await jobs(queue, "waiting")
    // It keeps the lower user's terms, but for the last hours of a month.
    _ = try await queue.create([Ask(low, image: "\(name) waiting 2", key: "again")])
  }

  private func jobs(_ queue: QueueFixture, _ image: String, at: Double? = nil) async throws -> [Int64] {
    try await queue.create([
      Ask(high, image: "\(name) \(image) 1", key: image, at: at),
      Ask(low, image: "\(name) \(image) 2", key: image, at: at),
    ])
  }

  func list(_ jobs: [Int64]) -> String { "ARRAY[\(jobs.map(String.init).joined(separator: ","))]::bigint[]" }

  /// The leases of the jobs that a worker holds, and these jobs.
  var held: String { "'{\(lease + 10),\(lease + 10)}', \(list(leased))" }

  func submit(_ users: [String], image: String, at: [String]? = nil) -> String {
    let images = users.indices.map { "'\(name) \(image) \($0)'" }
    return """
      SELECT analysis.submit(0::smallint, '{\(users.joined(separator: ","))}', array_fill(1::smallint, ARRAY[\(users.count)]),
        array_fill(1::smallint, ARRAY[\(users.count)]), ARRAY[\(images.map { "sha256(\($0))" }.joined(separator: ","))],
        ARRAY[\(images.joined(separator: ","))]::bytea[], NULL, NULL, NULL, ARRAY[\(images.joined(separator: ","))],
        \(at.map { "ARRAY[\($0.joined(separator: ","))]::timestamptz[]" } ?? "NULL"), NULL, NULL, 3::smallint, NULL, NULL)
      """
  }

  func fail(after delay: String) -> String {
    """
    SELECT analysis.fail(0::smallint, sha256('1'), \(held), '{\(delay),\(delay)}', '{true,true}', '{server,server}', NULL,
      '{failed,failed}', NULL, NULL, '{1,1}', '{false,false}', NULL)
    """
  }

  /// The rows in the middle of an operation, at which it is stopped.
  var gates: [String] {
    numbers.flatMap { user in
      ["usage", "fair_share", "account", "image", "terms"].map { "\($0) WHERE user_id = \(user)" }
    }
      + dead.flatMap { ["dead WHERE job_id = \($0)", "job WHERE id = \($0)"] }
      + (waiting + cancelled).map { "job WHERE id = \($0)" }
  }
}

/// A script that runs on a connection of its own.
private final class Call: Sendable {
  private let connection: Connection
  private let process: Int
  private let isDone = Atomic(false)

  init(on connection: Connection) async throws {
    self.connection = connection
    process = try await connection.query(.serverProcess).single().int(0)
  }

  /// Runs it, and answers the state and the words of its error.
  func run(_ script: String) async -> String? {
    defer { isDone.store(true, ordering: .releasing) }
    do {
      try await connection.execute(script: script, deadline: .seconds(60))
      return nil
    } catch {
      return "\(error.sqlState ?? "-") \(error.message)"
    }
  }

  /// Whether it waits for a lock; false when it has ended.
  func waits(_ queue: QueueFixture) async throws -> Bool {
    while !isDone.load(ordering: .acquiring) {
      let waiting = try await queue.number(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = \(process) AND wait_event_type = 'Lock'")
      if waiting > 0 { return true }
      try await Task.sleep(for: .milliseconds(1))
    }
    return false
  }
}

@Suite("Each pair of operations on the same users and jobs", .serialized)
struct OperationPairTests {
  /// Runs two operations while a third transaction holds what the first of them comes to; answers their errors, nil
  /// if the first does not come to it.
  private func interleaved(
    _ first: Operation, _ second: Operation, at gate: String, _ stage: Stage, _ queue: QueueFixture
  ) async throws -> [String]? {
    try await queue.pool.withConnection { (one) async throws in
      try await queue.pool.withConnection { (other) async throws in
        try await withThrowingTaskGroup(of: String?.self) { (group) async throws in
          let (former, latter) = (try await Call(on: one), try await Call(on: other))
          let isStopped = try await queue.pool.transaction { (holder) async throws in
            _ = try await holder.query("SELECT FROM analysis.\(gate) FOR UPDATE")
            group.addTask { await former.run(first.sql(stage)) }
            guard try await former.waits(queue) else { return false }
            group.addTask { await latter.run(second.sql(stage)) }
            _ = try await latter.waits(queue)
            return true
          }
          let errors = try await group.reduce(into: [String]()) { errors, error in
            if let error { errors.append(error) }
          }
          return isStopped ? errors : nil
        }
      }
    }
  }

  @Test(
    "ends without a deadlock, wherever the first is held up, and whoever waits too long says so",
    arguments: Operation.blocking)
  private func deadlocks(first: Operation) async throws {
    try await withCheckedQueue(connections: 6) { (queue) async throws in
      var count = 1
      for place in try await Stage(queue, 0).gates.indices {
        for second in Operation.blocking {
          let stage = try await Stage(queue, count)
          count += 1
          let gate = stage.gates[place]
          guard let errors = try await interleaved(first, second, at: gate, stage, queue) else { break }
          #expect(
            errors.allSatisfy { $0.hasPrefix("55P03") }, "\(first) and \(second) at \(gate)")
        }
      }
    }
  }

  @Test("is right with an older snapshot of the first, or is ended with 40001", arguments: Operation.allCases)
  private func snapshots(first: Operation) async throws {
    try await withCheckedQueue(connections: 4) { (queue) async throws in
      for (count, second) in Operation.allCases.enumerated() {
        let stage = try await Stage(queue, count)
        do {
          try await queue.pool.transaction(isolation: .serializable) { (open) async throws in
            _ = try await open.query("SELECT FROM analysis.setting")
            try await queue.execute(second.sql(stage))
            try await open.execute(script: first.sql(stage))
          }
          #expect(!(first.submitsLow && second.changesLow), "\(first) after \(second)")
        } catch let error as PostgreSQLError {
          #expect(error.sqlState == "40001", "\(first) after \(second): \(error)")
        }
      }
    }
  }
}
