import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Idempotency keys")
struct IdempotencyRaceTests {
  @Test("1,600 submits over 100 keys from 16 clients make exactly 100 jobs")
  func race() async throws {
    try await withCheckedQueue(connections: 16) { queue in
      try await queue.addUser("user")
      let answers = try await withThrowingTaskGroup(of: [(Int, Answer)].self) { group in
        for client in 0..<16 {
          group.addTask {
            var answers: [(Int, Answer)] = []
            for number in 0..<100 {
              let key = (number * 7 + client * 3) % 100
              let answer = try await queue.submit([Ask("user", image: "\(key)", key: "key-\(key)")])[0]
              answers.append((key, answer))
            }
            return answers
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }

      #expect(answers.count == 1600)
      #expect(answers.count { $0.1.outcome == "created" } == 100)
      #expect(answers.count { $0.1.outcome == "duplicate" } == 1500)
      // Everybody who used a key was told the same job.
      for (_, group) in Dictionary(grouping: answers, by: \.0) {
        #expect(Set(group.map(\.1.job)).count == 1)
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 100)
      #expect(try await queue.usage("user").used == 100)
    }
  }

  @Test("The same key with another image or another kind is refused, of another user it is another key")
  func otherContent() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.addUser("other")
      let first = try await queue.submit([Ask("user", image: "a", key: "k")])[0]
      let answers = try await queue.submit([
        Ask("user", image: "b", key: "k"), Ask("user", kind: 2, image: "a", key: "k"),
        Ask("user", image: "a", key: "k"),
        Ask("other", image: "b", key: "k"),
      ])
      #expect(answers.map(\.reason) == ["key_conflict", "key_conflict", nil, nil])
      #expect(answers[2].outcome == "duplicate")
      #expect(answers[2].job == first.job)
      #expect(answers[2].period == first.period)
      #expect(answers[3].outcome == "created")
    }
  }

  @Test("A key twice in one call makes one job; with other content the second is refused")
  func twiceInACall() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let answers = try await queue.submit([
        Ask("user", image: "a", key: "k"), Ask("user", image: "a", key: "k"),
        Ask("user", image: "b", key: "k"),
        Ask("user", image: "a"), Ask("user", image: "a"),
      ])
      #expect(answers.map(\.outcome) == ["created", "duplicate", "refused", "created", "created"])
      #expect(answers[1].job == answers[0].job)
      #expect(answers[2].reason == "key_conflict")
      // The same image twice without a key is two jobs, on one stored image.
      #expect(try await queue.number("SELECT count(*) FROM analysis.image") == 1)
    }
  }

  @Test("A repeat is answered when nothing new is taken, and a refused job leaves neither key nor image")
  func beforeQuota() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      let jobs = try await queue.create((0..<5).map { Ask("free", image: "\($0)", key: "k\($0)") })
      let answers = try await queue.submit([
        Ask("free", image: "3", key: "k3"), Ask("free", image: "9", key: "k9"),
        Ask("free", image: "9", key: "k9"),
      ])
      #expect(answers.map(\.outcome) == ["duplicate", "refused", "refused"])
      #expect(answers[0].job == jobs[3])
      #expect(answers[1].reason == "quota")
      #expect(answers[2].reason == "quota")
      #expect(try await queue.number("SELECT count(*) FROM analysis.idem") == 5)
      #expect(try await queue.number("SELECT count(*) FROM analysis.image") == 5)

      try await queue.execute("UPDATE analysis.setting SET value = '0' WHERE name = 'max_waiting'")
      try await queue.execute("SELECT analysis.refresh_gauges()")
      #expect(try await queue.submit([Ask("free", image: "3", key: "k3")])[0].outcome == "duplicate")
      #expect(try await queue.submit([Ask("free", image: "8", key: "k8")])[0].reason == "queue_full")
    }
  }

  @Test(
    "A repeat in the midst of new keys is a duplicate, and those refused after them may use their keys again")
  func repeatAmongNew() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      let old = try await queue.create([Ask("free", image: "old", key: "old")])[0]
      let answers = try await queue.submit([
        Ask("free", image: "1", key: "k1"), Ask("free", image: "old", key: "old"),
        Ask("free", image: "2", key: "k2"), Ask("free", image: "none"),
      ])
      #expect(answers.map(\.outcome) == ["created", "duplicate", "created", "created"])
      #expect(answers[1].job == old)
      // One unit is left: all keys are new, and two of the jobs are refused for the quota.
      let last = try await queue.submit((3...5).map { Ask("free", image: "\($0)", key: "k\($0)") })
      #expect(last.map(\.outcome) == ["created", "refused", "refused"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.idem") == 4)
      try await queue.execute("SELECT analysis.set_plan(0::smallint, 'free', 'premium', NULL)")
      let again = try await queue.submit((3...5).map { Ask("free", image: "\($0)", key: "k\($0)") })
      #expect(again.map(\.outcome) == ["duplicate", "created", "created"])
    }
  }

  @Test("A submit that waits for the key's owner gets the job when that one rolls back")
  func rolledBackWinner() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let waiter = try await withThrowingTaskGroup(of: Answer.self) { group in
        try await queue.pool.withConnection { winner in
          try await winner.execute(script: "BEGIN")
          let first = try await queue.submit([Ask("user", key: "k")], on: winner)
          #expect(first[0].outcome == "created")
          group.addTask { try await queue.submit([Ask("user", key: "k")])[0] }
          try await queue.untilSomebodyWaits()
          try await winner.execute(script: "ROLLBACK")
        }
        return try await group.next()
      }
      #expect(waiter?.outcome == "created")
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 1)
      #expect(try await queue.submit([Ask("user", key: "k")])[0].job == waiter?.job)
    }
  }

  @Test("An image may be named by its hash once the user has it, in whatever month")
  func knownImage() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.addUser("other")
      _ = try await queue.create([Ask("user", image: "seen")])
      let answers = try await queue.submit([
        Ask("user", image: "seen", withBytes: false), Ask("user", image: "unseen", withBytes: false),
        Ask("other", image: "seen", withBytes: false),
      ])
      #expect(answers.map(\.reason) == [nil, "image_missing", "image_missing"])
      #expect(try await queue.usage("user").used == 2)
      #expect(try await queue.number("SELECT count(DISTINCT image_id) FROM analysis.job") == 1)
    }
  }

  @Test("Of an image that is there in several months, the job's own month is taken, else the latest")
  func imageOfAnotherMonth() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let named = Ask("user", image: "seen", withBytes: false)
      func month(of job: Int64) async throws -> Int {
        try await queue.number(
          "SELECT j.image_period - j.period FROM analysis.job j JOIN analysis.image i "
            + "ON i.id = j.image_id AND i.period = j.image_period WHERE j.id = \(job)")
      }
      _ = try await queue.create([Ask("user", image: "seen")])
      // A month on, with the jobs that show them.
      func move(_ which: String) async throws {
        try await queue.execute(
          """
          WITH moved AS (UPDATE analysis.image SET period = period + 1 WHERE \(which) RETURNING id)
          UPDATE analysis.job SET image_period = image_period + 1 WHERE image_id IN (SELECT id FROM moved)
          """)
      }
      try await move("true")
      for job in try await queue.create([named, named]) { #expect(try await month(of: job) == 1) }
      _ = try await queue.create([Ask("user", image: "seen")])
      for job in try await queue.create([named, named]) { #expect(try await month(of: job) == 0) }
      try await move("id = (SELECT min(id) FROM analysis.image)")
      try await move("id = (SELECT max(id) FROM analysis.image)")
      for job in try await queue.create([named]) { #expect(try await month(of: job) == 2) }
    }
  }
}
