import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Whether jobs are run")
struct QueueStateTests {
  private func state(_ queue: QueueFixture) async throws -> String {
    try #require(try await QueueState.statement.run(on: queue.pool)).words
  }

  /// A worker that was heard of some seconds ago and calls an endpoint for some types.
  private func worker(
    _ queue: QueueFixture, kinds: [String]?, state: String = "open", reason: String = "", ago seconds: Int = 0
  ) async throws {
    let report = kinds.map {
      "'{\"endpoints\": [{\"name\": \"https://e\", \"kinds\": \($0), \"state\": \"\(state)\", \"reason\": \"\(reason)\"}]}'"
    }
    try await queue.execute(
      """
      DELETE FROM analysis.worker;
      INSERT INTO analysis.worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight, report)
      VALUES (0, 1, 'w', 1, '1', now(), clock_timestamp() - interval '\(seconds) seconds', 0, \(report ?? "NULL"))
      """)
  }

  @Test("is told in words: no worker, paused or endpoint shut, and why; working else")
  func words() async throws {
    try await withQueue { (queue) async throws in
      #expect(try await state(queue) == "no worker")
      try await worker(queue, kinds: ["throat", "ear"])
      #expect(try await state(queue) == "working")
      try await worker(queue, kinds: nil)
      #expect(try await state(queue) == "working", "one that names no endpoint may call any")
      for state in ["shut", "probing"] {
        try await worker(queue, kinds: ["throat", "ear"], state: state, reason: "it fails (server)")
        #expect(try await self.state(queue) == "endpoint shut: it fails (server)")
      }
      try await queue.execute("SELECT analysis.pause('endpoint', 'https://e', 'upgrade', NULL)")
      #expect(try await state(queue) == "paused: upgrade")
      try await queue.execute(
        "SELECT analysis.pause('all', '', 'the lamp is broken', NULL), analysis.resume('endpoint', 'https://e')"
      )
      #expect(try await state(queue) == "paused: the lamp is broken")
      try await queue.execute("SELECT analysis.resume('all', '')")
    }
  }

  @Test("is that of the type of which jobs wait; an empty queue works where one type does")
  func types() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("clinic")
      try await worker(queue, kinds: ["throat"])
      #expect(try await state(queue) == "working")
      _ = try await queue.submit(1, kind: .ear)
      try await WorkerStatements.refreshCounts(of: [0]).run(on: queue.pool)
      #expect(try await state(queue) == "no worker: none takes on ear jobs")
      try await worker(queue, kinds: ["throat", "ear"])
      try await queue.execute("SELECT analysis.pause('type', 'ear', 'the lamp is broken', NULL)")
      #expect(try await state(queue) == "paused: ear jobs, the lamp is broken")
      let status = try await QueueStatus.read(queue.pool)
      #expect(status.state == QueueState(.paused, why: "ear jobs, the lamp is broken"))
    }
  }

  @Test(
    "is said without an operator's words to logins that may not see the pauses",
    arguments: [
      ("submitter", false), ("clinician", false), ("operator", true),
    ])
  func reasons(role: String, areTold: Bool) async throws {
    try await withQueue { (queue) async throws in
      try await withLogin(of: [role], in: queue) { (pool) async throws in
        func words() async throws -> String? { try await QueueState.statement.run(on: pool)?.words }
        try await worker(queue, kinds: ["throat", "ear"], state: "paused", reason: "Bob broke it")
        #expect(try await words() == (areTold ? "paused: Bob broke it" : "paused"))
        try await worker(queue, kinds: ["throat", "ear"], state: "shut", reason: "it fails (server)")
        #expect(try await words() == "endpoint shut: it fails (server)")
        try await queue.execute("SELECT analysis.pause('all', '', 'Bob broke it', NULL)")
        #expect(try await words() == (areTold ? "paused: Bob broke it" : "paused"))
        try await queue.execute("SELECT analysis.resume('all', '')")
        for kind in ["throat", "ear"] {
          try await queue.execute("SELECT analysis.pause('type', '\(kind)', 'Bob broke it', NULL)")
        }
        #expect(try await words()?.contains("Bob broke it") == areTold)
      }
    }
  }

  @Test(
    "a sign of life ends with time, in whichever direction the server's clock goes", arguments: [16, -3600])
  func life(ago: Int) async throws {
    try await withQueue { (queue) async throws in
      try await worker(queue, kinds: ["throat"], ago: ago)
      #expect(try await state(queue) == "no worker")
      let status = try await QueueStatus.read(queue.pool)
      #expect(status.workers.map(\.state) == [.lost])
    }
  }

  @Test("until the queue is empty there is no time while jobs are not run")
  func emptyIn() {
    var status = QueueStatus()
    status.lanes = [
      .init(lane: Lane(.throat, .normal), waiting: BoundedCount(60), inFlight: 0, oldestWaitingSeconds: 1)
    ]
    status.rates = .init(tenSeconds: 1, minute: 1, fiveMinutes: 1)
    for name in QueueState.Name.allCases {
      status.state = QueueState(name)
      #expect(status.emptyIn == (name == .working ? 60 : nil))
    }
  }

  @Test("of a worker that has ended no count is kept: what waits is counted anew, and counts are due")
  func ended() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(3)
      _ = try await queue.statements.heartbeat([], leaseDuration: .seconds(60), inFlight: 0).run(
        on: queue.pool)
      try await WorkerStatements.refreshCounts(of: [0]).run(on: queue.pool)
      try await queue.execute("DELETE FROM analysis.ready")
      let kept = try await QueueStatus.read(queue.pool)
      #expect(kept.waiting == BoundedCount(3) && kept.countedAgo != nil)
      try await queue.statements.retire().run(on: queue.pool)
      let counted = try await QueueStatus.read(queue.pool)
      #expect(counted.waiting == BoundedCount(0) && counted.countedAgo == nil)
      #expect(try await queue.number("SELECT analysis.refresh_counts('{0}')") == 1)
      #expect(try await queue.number("SELECT sum(waiting)::int FROM analysis.lane_count") == 0)
    }
  }

  @Test(
    "begins one sentence that says how the queue is",
    arguments: [
      (QueueState(.working), 120, 3, 41.0, "Working: 41 a second, empty in 3 s"),
      (QueueState(.working), 0, 0, 41.0, "Working: nothing waits"),
      (QueueState(.working), 1, 2, nil, "Working: 1 job waits, 2 in workers' hands"),
      (QueueState(.noWorker), 44, 0, nil, "No worker; 44 jobs wait"),
      (
        QueueState(.noWorker, why: "none takes on ear jobs"), 1, 0, 2.0,
        "No worker: none takes on ear jobs; 1 job waits"
      ),
      (
        QueueState(.paused, why: "the lamp is broken"), 0, 0, nil, "Paused: the lamp is broken; nothing waits"
      ),
      (QueueState(.endpointShut, why: "it fails"), 2, 0, nil, "Endpoint shut: it fails; 2 jobs wait"),
    ] as [(QueueState, Int, Int, Double?, String)])
  func sentence(state: QueueState, waiting: Int, inFlight: Int, rate: Double?, sentence: String) {
    var queue = QueueStatus()
    queue.lanes = [
      .init(
        lane: Lane(.throat, .normal), waiting: BoundedCount(waiting), inFlight: inFlight,
        oldestWaitingSeconds: nil)
    ]
    queue.rates.minute = rate
    #expect(queue.sentence == nil, "a schema that does not say how it is")
    queue.state = state
    #expect(queue.sentence == sentence)
  }
}
