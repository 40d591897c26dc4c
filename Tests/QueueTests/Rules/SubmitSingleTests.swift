import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A submit of one job")
struct SubmitSingleTests {
  private static let users = ["small", "large", "crowd", "nobody", "first"]
  private static let limit = 8

  /// Asks of every sort: usual ones, and whatever may be said against one.
  private static func asks(_ count: Int, seed: UInt64) -> [Ask] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { index in
      let image = "photo-\(Int.random(in: 0..<6, using: &random))"
      return Ask(
        users.randomElement(using: &random) ?? "small", kind: Int16.random(in: 0...2, using: &random),
        priority: Int16.random(in: 0...3, using: &random), image: image,
        withBytes: Bool.random(using: &random),
        key: Int.random(in: 0..<4, using: &random) == 0
          ? nil : "visit-\(Int.random(in: 0..<60, using: &random))",
        at: Int.random(in: 0..<8, using: &random) == 0 ? 4_102_444_800 : nil,
        expires: Int.random(in: 0..<8, using: &random) == 0
          ? (index.isMultiple(of: 2) ? 1 : 4_102_444_800) : nil)
    }
  }

  /// What there is after the asks, without what the two ways may number differently.
  private static let leftovers = """
    SELECT 'usage ' || u.user_id || ' ' || u.used || ' ' || u.refused FROM analysis.usage u
    UNION ALL SELECT 'share ' || f.user_id || ' ' || f.lane || ' ' || f.last_vt || ' ' || f.step FROM analysis.fair_share f
    UNION ALL SELECT 'job ' || (j.user_id, j.kind, j.lane, j.vt, j.run_at, j.image_bytes, j.image_period, j.max_attempts,
                                j.image_unsanitized, j.key_hash IS NULL, j.expires_at, j.period)::text FROM analysis.job j
    UNION ALL SELECT 'ready ' || (r.lane, r.tries, r.period, r.vt)::text FROM analysis.ready r
    UNION ALL SELECT 'idem ' || (k.user_id, k.period, k.job_id IN (SELECT id FROM analysis.job))::text FROM analysis.idem k
    UNION ALL SELECT 'image ' || (i.user_id, i.period, i.byte_count, i.unsanitized)::text FROM analysis.image i
    ORDER BY 1
    """

  private func prepare(_ queue: QueueFixture) async throws {
    for user in Self.users where user != "nobody" {
      try await queue.addUser(user, plan: user == "small" ? "free" : "premium")
    }
    try await queue.execute(
      """
      UPDATE analysis.setting SET value = '\(Self.limit)' WHERE name = 'max_waiting_per_user';
      INSERT INTO analysis.lane_clock (shard, lane, now_vt, staged_at, at) VALUES (0, 5, 70000, now(), now());
      """)
  }

  /// Answers as they are to be compared: a job by the place of the ask that made it.
  private func run(
    _ asks: [Ask], on queue: QueueFixture, by submit: (Ask) async throws -> Answer
  ) async throws -> (answers: [String], left: [String]) {
    var places: [Int64: Int] = [:]
    var told: [String] = []
    for (place, ask) in asks.enumerated() {
      let answer = try await submit(ask)
      if answer.outcome == "created", let job = answer.job { places[job] = place }
      told.append(
        "\(place) \(answer.outcome) \(answer.reason ?? "-") \(answer.job.flatMap { places[$0] } ?? -1)"
          + " \(answer.period ?? 0) \(answer.limit ?? -1) \(answer.used ?? -1)")
    }
    return (told, try await queue.texts(Self.leftovers))
  }

  /// Submits by the call of a single job, which has no arrays.
  private func submitOne(_ ask: Ask, on queue: QueueFixture) async throws -> Answer {
    let row = try await queue.pool.query(
      """
      SELECT s.outcome, s.reason, s.job_id, s.period, s.quota, s.used
      FROM analysis.submit_one(0::smallint, CASE WHEN $5 THEN convert_to($4, 'UTF8') END,
        ($1, $2, $3, sha256(convert_to($4, 'UTF8')), NULL, NULL, NULL, $6, to_timestamp($7), to_timestamp($8), NULL, NULL,
        NULL), 3::smallint) s
      """,
      [
        .text(ask.user), .int16(ask.kind), .int16(ask.priority), .text(ask.image), .bool(ask.withBytes),
        .text(ask.key), .double(ask.at), .double(ask.expires),
      ]
    ).single()
    return Answer(
      outcome: try row.string(0), reason: try row.stringIfPresent(1), job: try row.int64IfPresent(2),
      period: try row.int16IfPresent(3), limit: try row.intIfPresent(4), used: try row.intIfPresent(5))
  }

  @Test("comes out as one among many does, whatever is asked", arguments: [1, 2, 3] as [UInt64])
  func alike(seed: UInt64) async throws {
    let asks = Self.asks(400, seed: seed)
    try await withCheckedQueue { short in
      try await withCheckedQueue { general in
        try await prepare(short)
        try await prepare(general)
        let isAlternating = seed == 2
        var count = 0
        let one = try await run(asks, on: short) { ask in
          count += 1
          return isAlternating && count.isMultiple(of: 2) || seed == 3
            ? try await submitOne(ask, on: short) : try await short.submit([ask])[0]
        }
        // What is refused beside it takes nothing, and has the call go the general way.
        let many = try await run(asks, on: general) { try await general.submit([$0, Ask("a stranger")])[0] }
        #expect(one.answers == many.answers)
        #expect(one.left == many.left)
        let reasons = Set(one.answers.map { $0.split(separator: " ")[2] })
        #expect(
          reasons.isSuperset(of: [
            "-", "quota", "unknown_user", "bad_argument", "expired", "image_missing", "waiting_limit",
            "key_conflict",
          ]), "\(reasons)")
      }
    }
  }

  /// What a user has used after a submit the short way; nil where it has to go the general one.
  private func used(
    _ queue: QueueFixture, by user: String, image: Bool = true, key: String = "one"
  ) async throws -> Int? {
    let job = try await queue.pool.query(
      """
      SELECT s.job_id, s.used FROM analysis.submit_single(0::smallint, CASE WHEN $1 THEN 'a'::bytea END,
        ROW($2, 1, 1, sha256('a'), NULL, NULL, NULL, $3, NULL, NULL, NULL, NULL, NULL)::analysis.submission,
        10::smallint, clock_timestamp()) s
      """, [.bool(image), .text(user), .text(key)]
    ).single()
    return try job.intIfPresent(0) == nil ? nil : job.int(1)
  }

  @Test("goes the short way when it is usual, and leaves nothing behind when it is not")
  func short() async throws {
    try await withCheckedQueue { queue in
      for user in ["clinic", "other"] { try await queue.addUser(user) }
      // The first submit of a login gets its number, the general way.
      _ = try await queue.create([Ask("other")])
      func direct(image: Bool, key: String) async throws -> Int? {
        try await used(queue, by: "clinic", image: image, key: key)
      }
      #expect(try await direct(image: false, key: "one") == nil, "there is no such image")
      #expect(try await queue.usage("clinic").used == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.idem") == 0)
      #expect(try await direct(image: true, key: "one") != nil)
      #expect(try await direct(image: true, key: "two") != nil)
      #expect(try await direct(image: false, key: "three") != nil)
      #expect(try await direct(image: false, key: "three") == nil, "the key is taken")
      #expect(try await queue.usage("clinic").used == 3)
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 4)
    }
  }

  @Test(
    "goes the short way as a user's first of a month, where the month takes jobs and the limit allows one")
  func firstOfMonth() async throws {
    try await withCheckedQueue { queue in
      for user in ["new", "late", "idle", "other"] {
        try await queue.addUser(user, plan: user == "idle" ? "free" : "premium")
      }
      _ = try await queue.create([Ask("other")])
      try await queue.execute("UPDATE analysis.plan_limit SET monthly_limit = 0 WHERE plan_id = 1")
      #expect(try await used(queue, by: "new") == 1)
      #expect(try await used(queue, by: "idle") == nil)
      try await queue.execute("DELETE FROM analysis.partition_made")
      #expect(try await used(queue, by: "late") == nil)
      #expect(try await queue.number("SELECT count(*) FROM analysis.usage") == 2)
    }
  }

  @Test("has the next number, also where it is its user's first of a month and of a lane")
  func numbers() async throws {
    try await withCheckedQueue { queue in
      for user in ["one", "other"] { try await queue.addUser(user) }
      var jobs: [Int] = []
      for ask in [
        Ask("one", key: "1"), Ask("other", key: "1"), Ask("one", kind: 2, key: "2"), Ask("one", key: "3"),
      ] { jobs.append(Int(try await queue.create([ask])[0])) }
      #expect(jobs == Array(jobs[0]..<jobs[0] + 4))
    }
  }
}
