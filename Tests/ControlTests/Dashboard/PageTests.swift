import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The pages of the dashboard", .onOwnThread)
struct PageTests {
  static let paths = DashboardPage.all.map(\.path).filter { !$0.contains("*") }

  @Test(
    "show each login what it may see, in a menu without refusals, and name the role that it lacks",
    arguments: [
      ("operator", "/", ["/workers"]), ("worker", "/", ["/workers"]),
      ("auditor", "/", ["/workers", "/usage", "/audit", "/audit/verification", "/audit/verify"]),
      ("reporter", "/usage", ["/usage", "/reviews"]), ("administrator", "/usage", ["/usage"]),
      ("clinician", "/jobs", ["/reviews", "/reviews/to-review"]),
      ("reviewer", "/jobs", ["/reviews", "/reviews/to-review"]), ("submitter", "/jobs", []),
    ])
  func rights(role: String, first: String, seen: [String]) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("clinic")
      try await withLogin(of: [role], in: queue) { (login) async throws in
        try await withDashboard(login) { (served) async throws in
          for path in [
            "/workers", "/usage", "/reviews", "/reviews/to-review", "/audit", "/audit/verification",
            "/audit/verify",
          ] {
            let answer = try served.get(path)
            #expect(answer.status == (seen.contains(path) ? 200 : 403), "\(role) at \(path): \(answer.text)")
            if answer.status == 403 { #expect(answer.text.contains("needs the role analysis_"), "\(path)") }
          }
          let begin = try served.get("/")
          #expect(first == "/" ? begin.status == 200 : begin.headers["location"] == first, "\(begin.status)")
          let menu = try #require(
            try served.get(first).text.firstMatch(of: #/<nav aria-label="Pages">.*?<\/nav>/#)?.0)
          let links = menu.matches(of: #/href="([^"]*)"/#).map { String($0.1) }
          #expect(links.first == first)
          for path in Section.allCases.map(\.path) {
            let status = try served.get(path).status
            #expect((status == 200) == links.contains(path), "\(role) at \(path): \(status)")
          }
        }
      }
    }
  }

  @Test("Below the path of a proxy every link, form, script and redirect stays there, and the cookie too")
  func basePath() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("clinic")
      let job = try await queue.submit(1)[0]
      try await withDashboard(queue.pool, below: "/a/queue") { (served) async throws in
        #expect(try served.get("/").status == 404 && served.get("/jobs").status == 404)
        let begin = try served.get("/a/queue/")
        #expect(begin.headers["set-cookie"]?.contains("; Path=/a/queue; ") == true)
        for path in [
          "", "/", "/jobs?user=clinic", "/jobs/\(job)", "/audit/verify", "/matching/cancel?user=clinic",
        ] {
          let page = try served.get("/a/queue\(path)")
          #expect(page.status == 200, "\(path)")
          let links = page.text.matches(of: #/ (?:href|src|action|formaction)="([^"]*)"/#).map {
            String($0.1)
          }
          #expect(
            links.count > 5 && links.allSatisfy { $0.hasPrefix("/a/queue/") || $0 == "#content" }, "\(links)")
        }
        #expect(try served.get("/a/queue/live.js").status == 200)
        let (cookie, token) = try served.form("/a/queue/jobs/\(job)/cancel")
        let sent = try served.request(
          "POST", "/a/queue/jobs/\(job)/cancel", ["Cookie": cookie], form: "token=\(token)")
        #expect(sent.status == 303 && sent.headers["location"] == "/a/queue/jobs/\(job)")
      }
      try await withDashboard(queue.pool, { .token(Secret("correct-horse-battery"), $0) }, below: "/a/queue")
      {
        served in
        #expect(try served.get("/a/queue/jobs").headers["location"] == "/a/queue/log-in")
        let inside = try served.request("POST", "/a/queue/log-in", form: "token=correct-horse-battery")
        #expect(inside.headers["location"] == "/a/queue/")
        let cookie = try #require(inside.headers["set-cookie"])
        #expect(cookie.hasPrefix("__Secure-analysis_session=") && cookie.contains("; Path=/a/queue; "))
      }
    }
  }

  @Test("hold 100 kB, however many workers, users and entries there are, and however long their names")
  func sizes() async throws {
    try await withQueue { (queue) async throws in
      let long = String(repeating: "&", count: 180)
      for number in 0..<60 { try await queue.addUser("\(long)\(number)") }
      try await queue.execute(
        """
        INSERT INTO analysis.worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight)
        SELECT 0, g, repeat('h', 60), g, '1.0.0', now(), now(), 5 FROM generate_series(1, 300) g;
        """)
      for number in 0..<60 {
        try await queue.record("user:\(number)", reason: String(repeating: "\"", count: 500))
      }
      try await withDashboard(queue.pool) { (served) async throws in
        for path in Self.paths {
          let answer = try served.get(path)
          #expect(answer.status == 200, "\(path): \(answer.text.prefix(3000))")
          #expect(answer.body.count <= 100_000, "\(path) has \(answer.body.count) bytes")
        }
      }
    }
  }

  @Test("carry the strict policy, and no word of the page itself is code")
  func policy() async throws {
    try await withQueue { (queue) async throws in
      try await withDashboard(queue.pool) { (served) async throws in
        for path in Self.paths + ["/audit/verify"] {
          let answer = try served.get(path)
          let policy = answer.headers["content-security-policy"]
          #expect(policy == Dashboard.policy && Dashboard.policy.hasPrefix("default-src 'none'; "))
          #expect(answer.headers["cache-control"] == "no-store")
          #expect(!answer.text.contains(/<script>| style=| on[a-z]+=/), "\(path)")
        }
        #expect(try served.get("/style.css").headers["content-type"] == "text/css; charset=utf-8")
        #expect(try served.get("/live.js").headers["content-type"] == "text/javascript; charset=utf-8")
      }
    }
  }

  @Test("say what happened where the database is away")
  func away() async throws {
    try await withQueue { (queue) async throws in
      let pool = ConnectionPool(queue.database.configuration, on: queue.loop, size: 1)
      try await withDashboard(pool) { (served) async throws in
        await pool.close()
        for path in ["/", "/usage", "/audit"] {
          let answer = try served.get(path)
          #expect(answer.status >= 500 && answer.text.contains("notice bad"), "\(path): \(answer.status)")
        }
      }
    }
  }

  @Test("The overview tells calls from jobs that are claimed and not yet sent, and names what is wrong")
  func overview() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(7)
      _ = try await queue.claimJobs(count: 4)
      _ = try await queue.statements.heartbeat([1000], leaseDuration: .seconds(60), inFlight: 4).run(
        on: queue.pool)
      var endpoint = WorkerReport.Endpoint(
        name: "https://a.example.org", kinds: ["throat"], state: .shut, reason: "it <fails>", inFlight: 3,
        window: 8)
      (endpoint.calls, endpoint.callSeconds) = (10, 2.5)
      _ = try await queue.statements.tell(
        WorkerReport(endpoints: [endpoint]), on: queue.pool, deadline: patience)
      try await withDashboard(queue.pool) { (served) async throws in
        let text = try served.get("/").text
        #expect(text.contains("<dt>Waiting</dt><dd>3</dd>"))
        #expect(text.contains("<dt>Calls running now</dt><dd>3</dd>"))
        #expect(text.contains("<dt>Claimed, not yet sent</dt><dd>1</dd>"))
        #expect(text.contains("shut</strong> for 1 of 1 workers: it &lt;fails&gt;"))
        #expect(text.contains("250 ms"))
        #expect(text.contains("<strong>Endpoint shut: throat jobs, it &lt;fails&gt;; 3 jobs wait.</strong>"))
        let main = try #require(text.firstRange(of: "<h1>"))
        let order = ["Endpoint shut:", "The last hour", ">Endpoints<", ">Lanes<"].map {
          text.firstRange(of: $0)?.lowerBound
        }
        #expect(
          order.allSatisfy { $0.map { $0 > main.lowerBound } ?? false }
            && order.compactMap(\.self) == order.compactMap(\.self).sorted())
        // One lane has jobs; the seven others and what is zero are not shown.
        #expect(text.matches(of: /<tr id="lane-/).count == 1 && !text.contains("Scheduled for later"))
      }
    }
  }

  @Test("The charts show what the workers have kept")
  func charts() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        """
        INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
        SELECT 60, date_bin('1 minute', now(), '2000-01-01 00:00:00+00') - make_interval(mins => g), 40, 8, 0, 120, 6, 0, 2
        FROM generate_series(0, 29) g;
        """)
      let hour = try await QueuePast.read(queue.pool, seconds: 3600, parts: 60)
      #expect(hour.count == 60 && hour.filter { $0.done == nil }.count == 30)
      #expect(hour.last?.done == 2 && hour.last?.waiting == 40 && hour.last?.dead == 0.1)
      let bounded = try await QueuePast.read(queue.pool, seconds: .max, parts: .max)
      #expect(bounded.count == 200)
      try await withDashboard(queue.pool) { (served) async throws in
        let text = try served.get("/").text
        #expect(text.contains("role=\"img\"") && text.contains("done: 2 at the end"), "\(text)")
        #expect(text.contains(/<title>[0-9]{2}:[0-9]{2}: done 2, dead or to be retried 0.1<\/title>/))
        #expect(text.contains("<p class=\"scale\"><span>2</span><span>1</span><span>0</span></p>"))
      }
    }
  }

  @Test("The overview of an empty queue says once that nothing waits, and has no rows of zeros")
  func empty() async throws {
    try await withQueue { (queue) async throws in
      try await withDashboard(queue.pool) { (served) async throws in
        let text = try served.get("/").text
        #expect(text.contains("<strong>No worker; nothing waits.</strong>"))
        #expect(
          text.matches(of: /nothing waits/).count == 1 && !text.contains("<td") && !text.contains("<dd>0"))
      }
    }
  }

  @Test("Usage is shown by user and by clinic, a page at a time")
  func usage() async throws {
    try await withQueue { (queue) async throws in
      for number in 100..<155 { try await queue.addUser("u\(number)") }
      _ = try await queue.submit(3, user: "u100")
      _ = try await ClinicDirectory(queue.pool).add("north")
      try await queue.execute("UPDATE analysis.account SET clinic_id = 1 WHERE user_ref IN ('u100', 'u101')")
      try await withDashboard(queue.pool) { (served) async throws in
        let first = try served.get("/usage").text
        #expect(first.contains("u149") && !first.contains(">u150<"))
        #expect(first.contains("href=\"/usage?after=u149\""))
        let clinic = /north<\/th><td[^>]*>2<\/td><td[^>]*>3<\/td><td[^>]*>0</
        #expect(first.contains(clinic), "\(first)")
        let second = try served.get("/usage?after=u149").text
        #expect(second.contains(">u150<") && !second.contains(">u149<") && second.contains("First users"))
      }
    }
  }

  @Test(
    "Beside a user stands the photo, the clinic's logo or the initials; names' initials only for who may read names"
  )
  func pictures() async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob", "zoe & \"co\""] { try await queue.addUser(user) }
      let logo = "\\xffd8ffc0000b080010002001ffd9"
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'bob', 'north'),
          analysis.set_clinic('north', NULL, NULL, NULL, '\(logo)', NULL),
          analysis.set_photo(0::smallint, 'bob', 'https://img.example.org/SECRET'),
          analysis.save_profile(0::smallint, a.user_id, 'Quirin Yves', NULL, NULL, NULL, NULL)
        FROM analysis.account a WHERE a.user_ref = 'ann'
        """)
      let isKept = Mutex(true)
      let photo: @Sendable (String) async -> [UInt8]? = { url in
        url == "https://img.example.org/SECRET" && isKept.withLock { $0 } ? [0xFF, 0xD8, 0xFF, 7] : nil
      }
      let clock = MovedClock()
      try await withDashboard(queue.pool, clock: clock, openPhoto: photo) { (served) async throws in
        let page = try served.get("/usage").text
        #expect(page.contains(">QY</text>") && page.contains(">ZC</text>") && !page.contains("SECRET"))
        #expect(page.contains("src=\"/usage/user-picture?user=bob\" alt=\"\""))
        let sha256 = try #require(
          page.firstMatch(of: /\/usage\/logo\?sha256=([0-9a-f]{64})" alt=""[^>]*> north</)
        ).1
        let stored = try served.get("/usage/logo?sha256=\(sha256)")
        #expect(stored.headers["content-type"] == "image/jpeg" && stored.body.count == 14)
        #expect(try served.get("/usage/user-picture?user=bob").body == [0xFF, 0xD8, 0xFF, 7])
        // No more at hand: what comes next in the rule.
        isKept.withLock { $0 = false }
        clock.pass(.seconds(61))
        #expect(try served.get("/usage/user-picture?user=bob").body == stored.body)
        try await queue.execute("SELECT analysis.set_clinic('north', 'pharmacy', NULL, NULL, NULL, NULL)")
        #expect(try served.get("/usage/user-picture?user=bob").body == stored.body, "it has no other logo")
        try await queue.execute("SELECT analysis.assign_clinic(0::smallint, 'bob', NULL)")
        let drawn = try served.get("/usage/user-picture?user=bob")
        #expect(drawn.headers["content-type"] == "image/svg+xml" && drawn.text.contains(">B</text>"))
        for path in [
          "user-picture?user=nobody", "logo?sha256=\(String(repeating: "0", count: 64))", "logo?sha256=x",
        ] {
          #expect(try served.get("/usage/\(path)").status == 404)
        }
        #expect(try served.get("/usage/user-picture").status == 400)
      }
      try await withLogin(of: ["auditor"], in: queue) { (auditor) async throws in
        try await withDashboard(auditor, openPhoto: photo) { (served) async throws in
          let page = try served.get("/usage").text
          #expect(page.contains(">A</text>") && page.contains(">B</text>") && !page.contains("QY"))
          #expect(!page.contains("user-picture"))
          #expect(try served.get("/usage/user-picture?user=bob").status == 403)
        }
      }
    }
  }

  @Test("The audit is searched by who, what and when, and verified")
  func audit() async throws {
    try await withQueue { (queue) async throws in
      for number in 1...60 { try await queue.record("user:\(number)", reason: "because \(number)") }
      try await withDashboard(queue.pool) { (served) async throws in
        let first = try served.get("/audit").text
        #expect(first.contains("because 60") && !first.contains("because 30<"))
        let older = try #require(first.firstMatch(of: /href="(\/audit\?before=[0-9]+)"/)).1
        #expect(try served.get(String(older)).text.contains("because 30<"))
        let one = try served.get("/audit?object=user:7").text
        #expect(one.contains("because 7<") && !one.contains("because 8<"))
        #expect(try served.get("/audit?since=tomorrow").status == 400)
        #expect(try served.get("/audit?before=0").status == 400)
        #expect(try served.get("/audit?user=nobody").status == 400)
        #expect(try served.get("/audit?until=2020-01-01T00:00").text.contains("No entry is like that."))
        let (cookie, token) = try served.form("/audit/verify")
        let done = try served.request(
          "POST", "/audit/verify", ["Cookie": cookie], form: "token=\(token)")
        #expect(done.status == 303 && done.headers["location"] == "/audit/verification")
        try await eventually("the verdict") {
          try served.get("/audit/verification", ["Cookie": cookie]).text.contains("The audit is whole.")
        }
      }
    }
  }
}
