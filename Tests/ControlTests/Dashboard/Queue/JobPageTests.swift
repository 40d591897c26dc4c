import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The dashboard's pages of jobs", .onOwnThread)
struct JobPageTests {
  @Test("list jobs by each filter, and dead ones with their causes")
  func list() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let dead = try await queue.deadJob("ann", image: "dead")
      let waiting = try #require(try await queue.submit([Ask("bob", kind: 2, image: "b")])[0].job)
      try await queue.execute(
        """
        INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id, reference)
        SELECT j.shard, j.period, j.id, j.user_id, 17, 'visit 4711' FROM analysis.job j WHERE j.id = \(waiting)
        """)
      try await withPages(queue.pool) { (pages) async throws in
        let (link, other) = ("href=\"/jobs/\(dead)\"", "href=\"/jobs/\(waiting)\"")
        let all = try pages.get("/jobs")
        #expect(all.status == 200 && all.text.contains(link) && all.text.contains(other))
        for query in ["user=ann", "type=throat", "state=dead", "cause=server", "like=\(dead)"] {
          let page = try pages.get("/jobs?\(query)").text
          #expect(page.contains(link) && !page.contains(other), "\(query)")
        }
        for query in ["user=bob", "type=ear", "state=waiting", "batch=B17", "reference=visit%204711"] {
          let page = try pages.get("/jobs?\(query)").text
          #expect(page.contains(other) && !page.contains(link), "\(query)")
        }
        #expect(try pages.get("/jobs?user=nobody").text.contains("No jobs."))
      }
    }
  }

  @Test(
    "say of an address that means nothing what is wrong with it",
    arguments: [
      "/jobs?type=nose", "/jobs?state=lost", "/jobs?month=yesterday", "/jobs?batch=x", "/jobs?cause=x",
      "/jobs?after=x", "/jobs?state=waiting&cause=server", "/jobs?after=2026-11/1&state=dead", "/jobs/x",
      "/matching/cancel", "/matching/cancel?state=dead", "/batches/x", "/batches?before=x",
      "/pause?type=nose", "/jobs?user=%00", "/jobs?us%00er=a", "/jobs?reference=a%00b",
      "/matching/cancel?user=%00",
      "/audit?by=%00",
      "/usage?after=%00", "/pause?endpoint=%00",
    ])
  func refused(path: String) async throws {
    try await withQueue { queue in
      try await withPages(queue.pool) { (pages) async throws in
        let page = try pages.get(path)
        #expect(page.status == 400 && page.text.contains("<h1>Not understood</h1>"), "\(page.status)")
        #expect(PageClient.isRefusal(page.text))
      }
    }
  }

  @Test("go on page by page")
  func paging() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let jobs = try await queue.submit(60)
      try await withPages(queue.pool) { (pages) async throws in
        let first = try pages.get("/jobs").text
        let next = try #require(first.firstMatch(of: #/rel="next" href="([^"]*)"/#))
        let second = try pages.get(String(next.1).replacing("&amp;", with: "&")).text
        let found = (first + second).matches(of: #/href="\/jobs\/([0-9]+)"/#).compactMap {
          JobID(String($0.1))
        }
        #expect(found == jobs.sorted().reversed())
        #expect(!second.contains("rel=\"next\""))
      }
    }
  }

  @Test("tell what happened to a job, and what was found to who may read it, which is recorded")
  func job() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let job = try await queue.submit(1)[0]
      _ = try await queue.statements.complete([queue.completed(try await queue.claimJobs()[0])]).run(
        on: queue.pool)
      try await withLogin(of: ["clinician"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let page = try pages.get("/jobs/\(job)").text
          #expect(page.contains("Submitted") && page.contains("Stored") && page.contains("Tonsillitis"))
          #expect(page.contains("83%") && page.contains("red"))
          #expect(try await readings(queue) == 1)
          let update = try pages.get("/jobs/\(job)", live: true).text
          #expect(update.contains("Load the page anew") && !update.contains("Tonsillitis"))
          #expect(try await readings(queue) == 1, "a page that brings itself up to date reads no result")
        }
      }
      try await withLogin("other", of: ["operator"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let page = try pages.get("/jobs/\(job)").text
          #expect(page.contains("only a clinician") && !page.contains("Tonsillitis"))
        }
      }
      #expect(try await readings(queue) == 1)
    }
  }

  @Test("list what was found to who may read it and asks, which is recorded once for each user")
  func findings() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      try await queue.addUser("ben")
      let open = try await queue.submit(3, user: "ann")[0]
      _ = try await queue.submit(1, user: "ben")
      let claimed = try await queue.claimJobs()
      let done = claimed.filter { $0.id != open }
      _ = try await queue.statements.complete(try done.map { try queue.completed($0) }).run(on: queue.pool)
      try await withLogin(of: ["clinician"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let list = try pages.get("/jobs?user=ann").text
          #expect(
            list.contains("href=\"/jobs?user=ann&amp;findings=shown\"") && !list.contains("Tonsillitis"))
          #expect(try await readings(queue) == 0)
          let found = try pages.get("/jobs?user=ann&findings=shown").text
          #expect(found.matches(of: /Tonsillitis/).count == 2 && found.contains("83% red"))
          #expect(!found.contains("live.js"), "a page that brings itself up to date would record each time")
          #expect(try await readings(queue) == 1)
          let all = try pages.get("/jobs?findings=shown").text
          #expect(all.matches(of: /Tonsillitis/).count == 3)
          #expect(try await readings(queue) == 3)
        }
      }
      try await withLogin("other", of: ["operator"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          #expect(!(try pages.get("/jobs?user=ann&findings=shown").text.contains("Tonsillitis")))
          #expect(!(try pages.get("/jobs?user=ann").text.contains("findings=shown")))
        }
      }
      #expect(try await readings(queue) == 3)
    }
  }

  @Test("have a tab for each state that keeps the other filters, with how many jobs it has")
  func tabs() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      _ = try await queue.deadJob("ann", image: "dead")
      _ = try await queue.submit(3, user: "ann")
      try await withPages(queue.pool) { (pages) async throws in
        let all = try pages.get("/jobs").text
        for (state, count) in [
          ("Waiting", 3), ("Dead", 1), ("Succeeded", 0), ("Cancelled", 0), ("Running", 0),
        ] {
          #expect(
            all.contains(
              "href=\"/jobs?state=\(state.lowercased())\">\(state) <span class=\"count\">\(count)</span>"))
        }
        let dead = try pages.get("/jobs?user=ann&cause=server").text
        #expect(
          dead.contains(
            "href=\"/jobs?user=ann&amp;state=dead&amp;cause=server\" aria-current=\"page\">Dead</a>"))
        #expect(dead.contains("href=\"/jobs?user=ann&amp;state=waiting\">Waiting</a>"), "these have no cause")
        #expect(dead.contains("href=\"/jobs?user=ann\">All</a>"))
      }
    }
  }

  private func readings(_ queue: QueueFixture) async throws -> Int {
    try await queue.number("SELECT count(*) FROM analysis.audit_entry WHERE action = 'read_result'")
  }

  @Test("show a picture to who may see pictures, and record it; say to others that they may not")
  func picture() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = try #require(try await queue.submit([Ask("ann", image: "a photo")])[0].job)
      try await withLogin(of: ["operator", "privacy"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let page = try pages.get("/jobs/\(job)").text
          #expect(
            page.contains("src=\"/jobs/\(job)/picture\" loading=\"lazy\""),
            "it is loaded where it is unfolded")
          let picture = try pages.get("/jobs/\(job)/picture")
          #expect(picture.status == 200 && picture.text == "a photo")
          #expect(picture.headers["content-type"] == "application/octet-stream", "it is no picture at all")
          #expect(picture.headers["x-content-type-options"] == "nosniff")
          #expect(picture.headers["content-security-policy"]?.contains("frame-ancestors 'none'") == true)
          #expect(try pages.get("/jobs/99999999/picture").status == 404)
        }
        try await withPages(login, openPicture: { _ in throw UnreadablePicture("It is encrypted.") }) {
          pages in
          let page = try pages.get("/jobs/\(job)/picture")
          #expect(page.status == 409 && page.text.contains("It is encrypted."))
        }
      }
      try await withLogin("other", of: ["operator"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          #expect(
            !(try pages.get("/jobs/\(job)").text.contains("/picture")), "nothing that is refused is offered")
          let page = try pages.get("/jobs/\(job)/picture")
          #expect(page.status == 403 && page.text.contains("analysis_privacy"))
        }
      }
      let entries = try await queue.texts(
        "SELECT concat_ws(' ', object, os_user, host) FROM \(auditEntries) WHERE action = 'read_image'")
      #expect(entries == ["job:\(job) ops desk", "job:\(job) ops desk"], "once for each time it was shown")
    }
  }

  @Test("show hostile names as they are written, within 100 kB")
  func hostile() async throws {
    try await withQueue { queue in
      let name = "<script>alert('\"&')</script>"
      try await queue.addUser(name)
      let dead = try await queue.deadJob(name, image: "dead")
      _ = try await queue.submit(60, user: name)
      try await queue.execute(
        """
        UPDATE analysis.job SET source_name = repeat('<b>"''&', 70);
        UPDATE analysis.dead SET message = repeat('<img src=x onerror=''a''>', 50), code = repeat('<i>"&', 30);
        INSERT INTO analysis.job_label (shard, period, job_id, user_id, reference, batch_id)
        SELECT j.shard, j.period, j.id, j.user_id, repeat('<u>&"', 40), 1 FROM analysis.job j;
        INSERT INTO analysis.batch (created_at, submitter, name) VALUES (now(), 1, repeat('<s>&"', 20));
        """)
      try await withPages(queue.pool) { (pages) async throws in
        let paths = [
          "/jobs", "/jobs?state=dead", "/jobs/\(dead)", "/failures", "/batches", "/batches/B1",
          "/jobs/\(dead)/retry", "/matching/cancel?user=%3Cscript%3Ealert(%27%22%26%27)%3C/script%3E",
          "/jobs?user=%3Cscript%3E", "/pause?endpoint=%3Cscript%3E",
        ]
        for path in paths {
          let page = try pages.get(path)
          #expect(page.status == 200, "\(path): \(page.status)")
          for markup in ["<script>", "<b>", "<img src=x", "<i>", "<u>", "<s>"] {
            #expect(!page.text.contains(markup), "\(path) has \(markup)")
          }
        }
      }
    }
  }

  @Test("answer a login of one clinic of its own jobs alone, and one without the role with whom to ask")
  func rights() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let jobs = [try await queue.deadJob("ann", image: "a"), try await queue.deadJob("bob", image: "b")]
      try await queue.execute(
        """
        INSERT INTO analysis.clinic (name) VALUES ('north');
        UPDATE analysis.account SET clinic_id = (SELECT id FROM analysis.clinic) WHERE user_ref = 'bob';
        SELECT analysis.grant_clinics('analysis_operator', '{north}');
        """)
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          for path in ["/jobs", "/jobs?state=dead", "/failures"] {
            let page = try pages.get(path).text
            #expect(page.contains("/jobs/\(jobs[1])\"") && !page.contains("/jobs/\(jobs[0])\""), "\(path)")
          }
          #expect(try pages.get("/jobs/\(jobs[0])").status == 404)
          #expect(try pages.get("/jobs/\(jobs[1])").status == 200)
          let (retry, numbers) = ("/matching/retry?state=dead", jobs.map { JobID($0) })
          let token = PageClient.fields(try pages.get(retry).text).filter { $0.0 == "token" }
          #expect(try pages.post(retry, token + [("jobs", JobNumbers.text(numbers))]).status == 303)
          let states = try await JobDirectory(queue.pool).states(numbers)
          #expect(states == [numbers[0]: .dead, numbers[1]: .waiting])
        }
      }
      try await withLogin("other", of: ["reporter"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          for path in ["/jobs", "/jobs/\(jobs[0])", "/failures", "/batches", "/jobs/\(jobs[0])/retry"] {
            let page = try pages.get(path)
            #expect(page.status == 403 && page.text.contains("analysis_operator"), "\(path): \(page.status)")
          }
        }
      }
    }
  }
}
