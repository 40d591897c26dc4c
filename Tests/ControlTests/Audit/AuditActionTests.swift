import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("What is done is recorded")
struct AuditActionTests {
  private let actor = AuditActor(user: "olga", host: "ops-1", reason: "ticket 7")

  @Test(
    "Each action leaves exactly one entry, with role, user, host and reason",
    arguments: AuditedAction.allCases)
  func once(deed: AuditedAction) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let (action, object) = try await deed.perform(queue, as: actor)
      let entries = try await queue.entries()
      let entry = try #require(entries.first)
      #expect(entries.count == 1)
      #expect((entry.action, entry.object) == (action, object))
      #expect((entry.user, entry.host, entry.reason) == ("olga", "ops-1", "ticket 7"))
      let own = try await queue.pool.query(
        "SELECT session_user::text, host(inet_client_addr()), extract(epoch FROM clock_timestamp())::float8"
      ).single()
      #expect(try own.string(0) == entry.role)
      #expect(try own.stringIfPresent(1) == entry.address)
      #expect(try (0..<60).contains(own.double(2) - entry.at))
      #expect(try await queue.faults() == [])
    }
  }

  @Test("What changes nothing, or is refused, leaves none")
  func none() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let finished = try await queue.create([Ask("user")])[0]
      #expect(try await queue.complete(try await queue.claim()) == [finished])
      let (jobs, pauses) = (JobDirectory(queue.pool), PauseDirectory(queue.pool))
      _ = try await jobs.change([JobID(finished), JobID(999_999)], .cancel, by: actor)
      _ = try await jobs.change([JobID(finished), JobID(999_999)], .retry, by: actor)
      try await UserDirectory(queue.pool).setPlan("user", plan: "premium", by: actor)
      #expect(try await pauses.resume(.everything, by: actor) == false)
      await #expect(throws: JobQueueError.self) {
        try await UserDirectory(queue.pool).setPlan("nobody", plan: "free", by: actor)
      }
      await #expect(throws: JobQueueError.self) {
        try await PlanDirectory(queue.pool).setLimit(plan: "gold", limit: 1, by: actor)
      }
      await #expect(throws: JobQueueError.self) {
        _ = try await pauses.pause(.everything, reason: nil, until: 0, by: actor)
      }
      // A key that could not be removed, and a job without a result.
      await #expect(throws: CancellationError.self) {
        try await AuditLog(queue.pool).record(removing: 77, by: actor) { throw CancellationError() }
      }
      let waiting = try await queue.create([Ask("user")])[0]
      _ = try await jobs.show(JobID(waiting), by: actor)
      _ = try await jobs.show(JobID(999_999), by: actor)
      #expect(try await queue.entries() == [])
      #expect(try await queue.number("SELECT count(*) FROM analysis.audit_draft") == 0)
    }
  }

  @Test("What is rolled back leaves none, and what is committed with it leaves all, in order")
  func withTheTransaction() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      try await queue.pool.withConnection { connection in
        for end in ["ROLLBACK", "COMMIT"] {
          try await connection.execute(script: "BEGIN; SELECT analysis.act_as('back-end', 'app-1', 'gone')")
          for job in jobs { _ = try await queue.cancel([job], on: connection) }
          try await connection.execute(script: end)
        }
      }
      let entries = try await queue.entries()
      #expect(entries.map(\.object) == jobs.map { "job:\($0)" })
      #expect(entries.map(\.id) == [1, 2])
      #expect(entries.allSatisfy { $0.user == "back-end" && $0.reason == "gone" })
    }
  }

  @Test(
    "A back-end that calls the functions by SQL is recorded by what the server knows, whatever role it takes on"
  )
  func bySQL() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "SET ROLE analysis_submitter")
        _ = try await queue.cancel(jobs, on: connection)
        try await connection.execute(script: "RESET ROLE")
      }
      let entries = try await queue.entries()
      #expect(entries.map(\.action) == ["cancel"])
      let entry = try #require(entries.first { $0.action == "cancel" })
      #expect((entry.user, entry.host, entry.reason) == (nil, nil, nil))
      #expect(try await queue.texts("SELECT session_user::text") == [entry.role])
      let user = try await queue.number("SELECT user_id FROM analysis.account")
      #expect(entry.object == "jobs")
      #expect(entry.detail == #"{"jobs": [\#(jobs[0]), \#(jobs[1])], "shard": 0, "users": [\#(user)]}"#)
    }
  }

  @Test("Who acts holds for one transaction, and not for the next on the same connection")
  func forOneTransaction() async throws {
    try await withCheckedQueue(connections: 1) { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      _ = try await JobDirectory(queue.pool).change([JobID(jobs[0])], .cancel, by: actor)
      _ = try await queue.cancel([jobs[1]])
      #expect(try await queue.entries().map(\.user) == ["olga", nil])
    }
  }

  @Test("Reasons and names are bounded, and hold nothing that breaks a line or turns it round")
  func cleaned() async throws {
    try await withCheckedQueue { queue in
      let hostile = AuditActor(
        user: "a\u{1B}[31mb", host: " \n\u{202E} ",
        reason: "one\r\n\u{7}two \u{2066}" + String(repeating: "é", count: 600))
      _ = try await PauseDirectory(queue.pool).pause(.everything, reason: nil, until: nil, by: hostile)
      let entry = try #require(try await queue.entries().first)
      #expect(entry.user == "a [31mb")
      #expect(entry.host == nil)
      #expect(entry.reason?.unicodeScalars.count == 500)
      #expect(entry.reason?.hasPrefix("one two") == true)
    }
  }

  @Test("What is done for each job is not recorded, and no user is named by what people call them")
  func quiet() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("somebody-known")
      let jobs = try await queue.create(Ask("somebody-known") * 3)
      let claimed = try await queue.claim(2)
      _ = try await queue.complete([claimed[0].job], leases: [claimed[0].lease])
      _ = try await queue.fail([claimed[1].job], leases: [claimed[1].lease], delay: 0)
      #expect(try await queue.entries() == [])
      _ = try await queue.cancel([jobs[2]])
      try await UserDirectory(queue.pool).setPlan("somebody-known", plan: "free", by: actor)
      let texts = try await queue.texts("SELECT e::text FROM analysis.audit_entry e")
      #expect(texts.count == 2 && !texts.contains { $0.contains("somebody") })
    }
  }

  @Test("Entries are found by action, by who did it, by user and by object, a page at a time")
  func found() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.addUser("other")
      let jobs = try await queue.create(Ask("user") * 2 + [Ask("other")])
      let log = AuditLog(queue.pool)
      _ = try await JobDirectory(queue.pool).change(jobs.prefix(2).map { JobID($0) }, .cancel, by: actor)
      _ = try await queue.cancel([jobs[2]])
      try await UserDirectory(queue.pool).setPlan("user", plan: "free", by: actor)
      func ids(_ filter: AuditFilter, limit: Int = 50) async throws -> [Int64?] {
        try await log.list(filter, limit: limit).map(\.id)
      }
      #expect(try await ids(AuditFilter()) == [3, 2, 1])
      #expect(try await ids(AuditFilter(), limit: 2) == [3, 2])
      #expect(try await ids(AuditFilter(before: 2)) == [1])
      #expect(try await ids(AuditFilter(action: "cancel")) == [2, 1])
      #expect(try await ids(AuditFilter(by: "olga")) == [3, 1])
      #expect(try await ids(AuditFilter(user: "user")) == [3, 1])
      #expect(try await ids(AuditFilter(object: "job:\(jobs[1])")) == [1])
      #expect(try await ids(AuditFilter(object: "job:\(jobs[2])")) == [2])
      let user = try await queue.number("SELECT user_id FROM analysis.account WHERE user_ref = 'user'")
      #expect(try await ids(AuditFilter(user: "#\(user)")) == [3, 1])
      let now = try await queue.now(plus: 60)
      #expect(try await ids(AuditFilter(since: now)) == [])
      #expect(try await ids(AuditFilter(until: now)) == [3, 2, 1])
      await #expect(throws: JobQueueError.self) { _ = try await log.list(AuditFilter(user: "nobody")) }
    }
  }

  @Test("Users who are added together are one entry, with their plan and zone; however many, none is refused")
  func added() async throws {
    try await withCheckedQueue { queue in
      let file = try TemporaryFolder()
      let rows = (1...3).map { "u\($0),premium,Asia/Jakarta\n" }.joined()
      try file.write("user,plan,zone\n" + rows + "u9,free,Asia/Jakarta\n", to: "users.csv")
      let imported = await queue.control("users", "import", file.path("users.csv"))
      #expect(imported.code == .done, "\(imported.messages)")
      let entries = try await queue.entries().filter { $0.action == "add_user" }
      #expect(entries.map(\.object).sorted().map { $0.prefix(5) } == ["user:", "users"])
      #expect(entries.map(\.words).contains("added 3 users with plan premium"))
      try await withLogin("office", of: ["administrator"], in: queue) { office in
        _ = try await office.query(
          """
          SELECT count(*) FROM generate_series(1, 700) n,
            analysis.add_user(0::smallint, 'many-' || n, NULL, NULL, NULL, NULL)
          """)
      }
      #expect(try await queue.count("audit_draft WHERE action = 'add_user'") == 700)
    }
  }

  @Test("Each action of privacy.md has its words, and no other has")
  func words() throws {
    let page = try #require(MarkdownFile.named("docs/privacy.md"))
    let rows = page.prose.prefix { !$0.hasPrefix("### ") }.filter { $0.hasPrefix("| `") }
    let named = rows.flatMap { $0.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) } }
    #expect(named.count > 40)
    #expect(Set(named) == Set(AuditEntry.sentences.keys))
  }

  @Test(
    "An entry says what was done to what, with links to the jobs, and what it does not know by its name",
    arguments: [
      ("cancel", "job:12", nil, "cancelled job 12", #"cancelled <a href="/jobs/12">job 12</a>"#),
      (
        "retry", "jobs", #"{"jobs": [3, 4], "users": [1], "shard": 0}"#, "retried 2 jobs",
        #"retried 2 jobs: <a href="/jobs/3">3</a> <a href="/jobs/4">4</a>"#
      ),
      (
        "set_plan", "user:7", #"{"plan": "free"}"#, "gave user #7 the plan free",
        #"gave <a href="/audit?user=%237">user #7</a> the plan free"#
      ),
      (
        "report", "report:analyses:2026-10", nil, "made report analyses of 2026-10",
        "made report analyses of 2026-10"
      ),
      (
        "set_setting", "setting:zone", #"{"after": "<b>"}"#, "set setting zone to <b>",
        "set setting zone to &lt;b&gt;"
      ),
      (
        "replay_webhook", "webhook:3", #"{"events": 12}"#, "had 12 events of webhook 3 sent again",
        "had 12 events of webhook 3 sent again"
      ),
      ("unheard_of", "thing:1", nil, "unheard_of thing 1", "unheard_of thing 1"),
    ] as [(String, String, String?, String, String)])
  func sentence(action: String, object: String, detail: String?, words: String, html: String) {
    let entry = AuditEntry(
      id: 1, at: 0, role: "office", user: nil, host: nil, address: nil, action: action, object: object,
      reason: nil, detail: detail, hash: nil)
    #expect(entry.words == words)
    #expect(entry.html.markup == html)
  }
}
