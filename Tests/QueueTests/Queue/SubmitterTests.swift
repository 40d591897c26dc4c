import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The submitter")
struct SubmitterTests {
  @Test("answers each submission in the order given")
  func outcomes() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let first = try await queue.submit([queue.submission("clinic", 1, key: "a")])
      let outcomes = try await queue.submit([
        queue.submission("nobody"),
        queue.submission("clinic", 1, key: "a"),
        queue.submission("clinic", 2, key: "a"),
        queue.submission("clinic", 3),
        Submission(user: "clinic", kind: .ear, image: .known(sha256: QueueFixture.hash(1))),
        Submission(user: "clinic", kind: .ear, image: .known(sha256: QueueFixture.hash(99))),
        queue.submission("cli\0nic", 3),
        queue.submission("clinic", 3, key: "\0"),
        Submission(user: "clinic", kind: .ear, image: .known(sha256: [1, 2, 3])),
      ])
      let codes = outcomes.map { outcome in
        switch outcome {
        case .created: "created"
        case .duplicate: "duplicate"
        case .refused(let refusal): refusal.code
        }
      }
      #expect(
        codes == [
          "unknown_user", "duplicate", "key_conflict", "created", "created", "image_missing", "bad_argument",
          "bad_argument", "bad_argument",
        ])
      #expect(outcomes[1].job == first[0].job)
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 3)
    }
  }

  @Test("takes as many of a user's jobs as the limit allows, the first ones, over several calls")
  func quota() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("basic", plan: "free")
      try await queue.addUser("premium")
      let submitter = Submitter(queue.pool, limits: SubmitLimits(maximumCount: 3))
      let items = (1...8).flatMap { [queue.submission("basic", $0), queue.submission("premium", $0)] }
      let outcomes = try await submitter.submit(items)
      let basic = stride(from: 0, to: 16, by: 2).map { outcomes[$0] }
      #expect(basic.prefix(5).allSatisfy { $0.job != nil })
      for outcome in basic.suffix(3) {
        guard case .refused(let refusal) = outcome else {
          Issue.record("the sixth to the eighth are over the limit of 5")
          continue
        }
        #expect(refusal.isQuota)
        #expect(refusal.limit == 5)
        #expect(refusal.used == 5)
        #expect(refusal.sentence.hasPrefix("User basic "))
      }
      #expect(stride(from: 1, to: 16, by: 2).allSatisfy { outcomes[$0].job != nil })
    }
  }

  @Test("refuses a job whose reference the database does not take, and submits the others")
  func references() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let references = ["visit-1", "", "turned\u{202E}round", String(repeating: "ü", count: 201), "visit 2"]
      let items = references.enumerated().map { index, reference in
        var item = queue.submission("clinic", index)
        item.reference = reference
        return item
      }
      let outcomes = try await Submitter(queue.pool).submit(items)
      #expect(outcomes.map { $0.job != nil } == [true, false, false, false, true])
      #expect(
        try await queue.texts("SELECT reference FROM analysis.job_label ORDER BY job_id")
          == ["visit-1", "visit 2"])
    }
  }

  @Test("looks anew for a name that it was refused, which a user of another shard has been given since")
  func namedSince() async throws {
    try await withQueue(shards: 5) { queue async throws in
      let user = try await queue.addUsers(1, inShard: 3)[0]
      let name = try await queue.text(
        "SELECT 'name-' || i FROM generate_series(1, 100) i WHERE analysis.shard_of('name-' || i) = 1 LIMIT 1"
      )
      let submitter = Submitter(queue.pool)
      #expect(try await submitter.submit([queue.submission(name)])[0].job == nil)
      try await queue.execute("SELECT analysis.rename_user(3::smallint, '\(user)', '\(name)')")
      #expect(try await submitter.submit([queue.submission(name)])[0].job != nil)
    }
  }

  @Test("finds users where shards were chosen after it was refused the first one")
  func shardsChosenSince() async throws {
    try await withQueue { queue async throws in
      let submitter = Submitter(queue.pool)
      #expect(try await submitter.submit([queue.submission("clinic")])[0].job == nil)
      try await queue.execute("UPDATE analysis.setting SET value = '64' WHERE name = 'shards'")
      try await queue.addUser("clinic")
      #expect(try await submitter.submit([queue.submission("clinic")])[0].job != nil)
    }
  }

  @Test("counts for a batch a refused job whose user or key is longer than any can be")
  func longRefusals() async throws {
    try await withQueue { queue async throws in
      let submitter = Submitter(queue.pool)
      let batch = try await submitter.openBatch(name: nil, key: nil)
      let long = String(repeating: "u", count: 300)
      try await submitter.addRefusals([(long, nil), ("u1", long), ("u2", "key")], to: batch)
      #expect(try await queue.count("batch_refusal") == 3)
    }
  }

  @Test("tells each outcome as soon as it has ended, so that an error later does not hide it")
  func ended() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let told = Mutex<[Int]>([])
      _ = try await Submitter(queue.pool, limits: SubmitLimits(maximumCount: 1)).submit(
        [queue.submission("clinic", 1), queue.submission("", 1), queue.submission("clinic", 2)]
      ) { index, _ in
        told.withLock { $0.append(index) }
      }
      #expect(told.withLock { $0 } == [1, 0, 2])
    }
  }

  @Test("puts no more into a call than the limits allow, and keeps each shard's order")
  func calls() {
    let shards: [String: Int16] = ["a": 0, "b": 1]
    let image = SubmittedImage.bytes([UInt8](repeating: 1, count: 400), sha256: [], width: 1, height: 1)
    let large = SubmittedImage.bytes([UInt8](repeating: 1, count: 5000), sha256: [], width: 1, height: 1)
    let items = [
      ("a", image), ("b", image), ("a", image), ("a", image), ("a", large), ("b", image), ("a", image),
      ("c", image),
    ].enumerated().map {
      (index: $0.offset, submission: Submission(user: $0.element.0, kind: .ear, image: $0.element.1))
    }
    let calls = SubmitCall.calls(of: items, shards: shards, limits: SubmitLimits(maximumBytes: 1000))
    let places = calls.map { call in call.items.map(\.index) }
    #expect(places == [[0, 2], [1, 5], [3], [4], [6]])
    let counted = SubmitCall.calls(of: items, shards: shards, limits: SubmitLimits(maximumCount: 2))
    #expect(counted.map { $0.items.map(\.index) } == [[0, 2], [1, 5], [3, 4], [6]])
  }

  @Test("has little patience with a call, and more with one of many bytes: a frozen server shows no error")
  func deadlines() {
    #expect(SubmitLimits().deadline(bytes: 0) == .seconds(15))
    #expect(SubmitLimits().deadline(bytes: 8_000_000) == .seconds(31))
  }

  @Test("keeps what was said of a job")
  func details() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let now = try await queue.number("SELECT extract(epoch FROM now())::int")
      var item = queue.submission("clinic", 4, kind: .ear, priority: .bulk, runAt: Double(now) + 3600.25)
      item.expiresAt = Double(now) + 7200
      let job = try #require(try await queue.submit([item]).first?.job)
      let detail = try #require(try await JobDirectory(queue.pool).show(job))
      #expect(detail.summary.user == "clinic")
      #expect(detail.summary.lane == Lane(.ear, .bulk))
      #expect(detail.summary.state == .scheduled)
      #expect(detail.summary.runAt == Double(now) + 3600.25)
      #expect(detail.summary.expiresAt == Double(now) + 7200)
      #expect(detail.summary.sourceName == "photo 4.jpg")
    }
  }

  @Test("wakes the workers no oftener than it may, and for all it has submitted before it ends")
  func coalescedNotification() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let connection = try await queue.listener()
      let notifications = try await connection.listen("analysis_jobs")
      let submitter = Submitter(queue.pool, limits: SubmitLimits(notifyInterval: .seconds(3600)))
      func tell(_ word: String) async throws {
        _ = try await queue.pool.query("SELECT pg_notify('analysis_jobs', $1)", [.text(word)])
      }
      for number in 1...5 { _ = try await submitter.submit([queue.submission("clinic", number)]) }
      try await tell("submitted")
      await submitter.notifyWorkers()
      await submitter.notifyWorkers()
      try await tell("end")
      var payloads: [String] = []
      for await notification in notifications {
        payloads.append(notification.payload)
        if notification.payload == "end" { break }
      }
      #expect(payloads == ["0", "submitted", "0", "end"])

      // The moment comes by itself too.
      try await queue.execute("SELECT setval('analysis.woken_at', 1)")
      let patient = Submitter(queue.pool, limits: SubmitLimits(notifyInterval: .milliseconds(100)))
      for number in 6...7 { _ = try await patient.submit([queue.submission("clinic", number)]) }
      var rest = notifications.makeAsyncIterator()
      #expect(await rest.next()?.payload == "0")
      #expect(await rest.next()?.payload == "0")
      await connection.close()
    }
  }

  @Test("has workers woken later where others are just being woken, and by the schema before as well")
  func laterNotification() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let connection = try await queue.listener()
      var notifications = try await connection.listen("analysis_jobs").makeAsyncIterator()
      let other = try await queue.database.connect(on: queue.loop)
      try await other.execute(script: "BEGIN; SELECT analysis.wake_workers(7::smallint)")
      // The other's transaction is still open, and nobody waits for it.
      try await queue.submit([queue.submission("clinic", 1)])
      #expect(await notifications.next()?.payload == "0")
      try await other.execute(script: "ROLLBACK")
      await other.close()

      try await queue.execute("DROP FUNCTION analysis.wake_workers")
      let outcomes = try await queue.submit([queue.submission("clinic", 2)])
      #expect(outcomes.first?.job != nil)
      #expect(await notifications.next()?.payload == "0")
      await connection.close()
    }
  }

  @Test("Workers are woken by a transaction when it commits, and 10 ms apart at least")
  func notificationInTransaction() async throws {
    try await withQueue { queue async throws in
      let connection = try await queue.listener()
      var notifications = try await connection.listen("analysis_jobs").makeAsyncIterator()
      let other = try await queue.database.connect(on: queue.loop)
      let wake = "SELECT analysis.wake_workers(3::smallint)::text"
      try await other.execute(script: "BEGIN")
      #expect(try await other.query(wake).single().string(0) == "true")
      try await other.execute(script: "ROLLBACK; SELECT setval('analysis.woken_at', 1)")
      #expect(try await queue.texts(wake.replacing("3", with: "5")) == ["true"])
      #expect(await notifications.next()?.payload == "5")
      let extra = try await queue.number(
        """
        SELECT count(*) FILTER (WHERE c.woken) - 1
          - floor(extract(epoch FROM max(c.at) - min(c.at)) * 100)::int
        FROM (
          SELECT clock_timestamp() AS at, analysis.wake_workers(0::smallint) AS woken
          FROM generate_series(1, 1000) OFFSET 0) c
        """)
      #expect(extra <= 0)
      await other.close()
      await connection.close()
    }
  }

  @Test("wakes the workers once for what was submitted together")
  func notification() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let connection = try await queue.listener()
      let notifications = try await connection.listen("analysis_jobs")
      try await queue.submit((1...5).map { queue.submission("clinic", $0) })
      _ = try await queue.pool.query("SELECT pg_notify('analysis_jobs', 'end')")
      var payloads: [String] = []
      for await notification in notifications {
        payloads.append(notification.payload)
        if notification.payload == "end" { break }
      }
      #expect(payloads == ["0", "end"])
      await connection.close()
    }
  }
}
