import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("What the dashboard does to jobs", .onOwnThread)
struct JobActionTests {
  private func states(_ queue: QueueFixture, _ jobs: [JobID]) async throws -> [JobState?] {
    let states = try await JobDirectory(queue.pool).states(jobs)
    return jobs.map { states[$0] }
  }

  @Test("one job is cancelled, queued again and retried, each after a question, with the reason in the audit")
  func one() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let dead = JobID(try await queue.deadJob("ann", image: "dead"))
      let job = try await queue.submit(1, user: "ann")[0]
      try await withPages(queue.pool) { (pages) async throws in
        let question = try pages.get("/jobs/\(job)/cancel").text
        #expect(question.contains("Cancel job \(job)?") && question.contains("for one day"))
        #expect(!question.contains("analysisctl"), "the page offers it itself")
        #expect(try await states(queue, [job]) == [.waiting], "asking changes nothing")
        let done = try pages.confirm("/jobs/\(job)/cancel", reason: "sent twice").text
        #expect(done.contains("Job \(job): cancelled."))
        #expect(try await states(queue, [job]) == [.cancelled])
        #expect(try pages.confirm("/jobs/\(job)/uncancel").text.contains("queued again"))
        #expect(try pages.confirm("/jobs/\(dead)/retry").text.contains("queued again"))
        #expect(try await states(queue, [job, dead]) == [.waiting, .waiting])
        let again = try pages.get("/jobs/\(dead)/retry")
        #expect(again.status == 409 && again.text.contains("is waiting"))
      }
      let entries = try await queue.texts(
        """
        SELECT concat_ws(' ', action, reason, os_user, host) FROM \(auditEntries)
        WHERE action IN ('cancel', 'uncancel', 'retry') ORDER BY at
        """)
      #expect(entries == ["cancel sent twice ops desk", "uncancel ops desk", "retry ops desk"])
    }
  }

  @Test("of many those are changed that were counted, and none that came later")
  func many() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let jobs = try await queue.submit(12, user: "ann")
      try await withPages(queue.pool) { (pages) async throws in
        let path = "/matching/cancel?user=ann"
        let form = try pages.get(path).text
        #expect(form.contains("<h1>Cancel 12 jobs?</h1>") && form.contains("12 jobs are to be cancelled"))
        let later = try #require(try await queue.submit([Ask("ann", image: "later")])[0].job)
        _ = try await JobDirectory(queue.pool).change([jobs[0]], .cancel)
        let sent = try pages.post(path, PageClient.fields(form))
        #expect(sent.status == 303 && sent.headers["location"] == "/jobs?user=ann")
        #expect(
          try pages.get("/jobs?user=ann").text.contains(
            "11 jobs: cancelled. 1 job: unchanged: it was cancelled before."))
        #expect(try await states(queue, jobs + [JobID(later)]) == jobs.map { _ in .cancelled } + [.waiting])
      }
    }
  }

  @Test("those that are marked in the list are changed together, and no others")
  func marked() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let dead = JobID(try await queue.deadJob("ann", image: "dead"))
      let jobs = try await queue.submit(3, user: "ann")
      try await withPages(queue.pool) { (pages) async throws in
        let list = try pages.get("/jobs?user=ann").text
        #expect(list.contains("<form method=\"get\" action=\"/matching/retry\">"))
        #expect(list.contains("<input type=\"hidden\" name=\"user\" value=\"ann\">"))
        for job in jobs + [dead] { #expect(list.contains("name=\"job\" value=\"\(job)\"")) }
        // Of those that are dead none can be cancelled.
        #expect(!(try pages.get("/jobs?state=dead").text.contains("formaction=\"/matching/cancel\"")))
        let path = "/matching/cancel?user=ann&chosen=1&job=\(jobs[0])&job=\(dead)&job=\(jobs[2])"
        let question = try pages.get(path).text
        #expect(question.contains("<h1>Cancel 2 jobs?</h1>") && question.contains("href=\"/jobs?user=ann\""))
        #expect(try pages.confirm(path).text.contains("2 jobs: cancelled."))
        #expect(try await states(queue, jobs + [dead]) == [.cancelled, .waiting, .cancelled, .dead])
        for wrong in ["chosen=1", "chosen=1&user=ann", "chosen=1&job=x", "job=1"] {
          #expect(try pages.get("/matching/cancel?\(wrong)").status == 400, "\(wrong)")
        }
        #expect(try pages.get("/matching/cancel?chosen=1&job=99999999").status == 404)
      }
    }
  }

  @Test("of a job that somebody else has cancelled meanwhile it is said that it was so already")
  func already() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = try await queue.submit(1, user: "ann")[0]
      try await withPages(queue.pool) { (pages) async throws in
        let path = "/jobs/\(job)/cancel"
        let form = PageClient.fields(try pages.get(path).text)
        _ = try await JobDirectory(queue.pool).change([job], .cancel)
        #expect(try pages.post(path, form).status == 303)
        let page = try pages.get("/jobs/\(job)").text
        #expect(
          page.contains("Job \(job): unchanged: it was cancelled before.") && PageClient.isRefusal(page))
      }
    }
  }

  @Test(
    "nothing is changed by a form whose address is not understood, or means all jobs, or jobs that cannot be changed so",
    arguments: ["?state=bogus", "", "?state=succeeded"])
  func strangeAddress(query: String) async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = try await queue.submit(1, user: "ann")[0]
      try await withPages(queue.pool) { (pages) async throws in
        let form = PageClient.fields(try pages.get("/matching/cancel?user=ann").text)
        #expect(try pages.post("/matching/cancel\(query)", form).status == 400)
        #expect(try await states(queue, [job]) == [.waiting])
      }
    }
  }

  @Test("what a login may not change is not offered to it, and refused before it fills in a form")
  func offers() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let dead = JobID(try await queue.deadJob("ann", image: "dead"))
      let job = try await queue.submit(1, user: "ann")[0]
      try await queue.execute(
        """
        INSERT INTO analysis.batch (created_at, submitter, name) VALUES (now(), 1, 'ward 3');
        INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id)
        SELECT j.shard, j.period, j.id, j.user_id, 1 FROM analysis.job j;
        """)
      let offers = [
        "/jobs/\(dead)": "/jobs/\(dead)/retry", "/jobs/\(job)": "/jobs/\(job)/cancel",
        "/jobs?user=ann": "/matching/cancel?user=ann", "/batches/B1": "/matching/retry?batch=B1",
        "/failures": "/matching/retry?like=\(dead)", "/": "/pause",
      ]
      for (role, may) in [("operator", true), ("clinician", false), ("auditor", false)] {
        try await withLogin(role, of: [role], in: queue) { (login) async throws in
          try await withDashboard(login) { (served) async throws in
            for (page, action) in offers {
              let answer = try served.get(page)
              let isSeen = role == "operator" || (page == "/") == (role == "auditor")
              // Who may not open the first page is led to another.
              #expect(answer.status == (isSeen ? 200 : page == "/" ? 303 : 403), "\(role) at \(page)")
              #expect(answer.text.contains("href=\"\(action)\"") == may, "\(role) at \(page)")
              let question = try served.get(action)
              #expect(question.status == (may ? 200 : 403), "\(role) at \(action)")
              #expect(
                may || question.text.contains("needs the role analysis_operator"), "\(role) at \(action)")
            }
          }
        }
      }
    }
  }

  @Test("a back-end cancels what the same login has submitted, and is offered nothing that is refused")
  func backEnd() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let foreign = try await queue.submit(1, user: "ann")[0]
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let own = try await queue.submit((1...3).map { Ask("ann", image: "own \($0)") }, on: login)
          .compactMap(\.job).map { JobID($0) }
        // A batch for what each login has submitted.
        try await queue.execute(
          """
          INSERT INTO analysis.batch (id, created_at, submitter, name) OVERRIDING SYSTEM VALUE
          SELECT j.submitter, now(), j.submitter, 'ward ' || j.submitter FROM analysis.job j GROUP BY j.submitter;
          INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id)
          SELECT j.shard, j.period, j.id, j.user_id, j.submitter FROM analysis.job j;
          """)
        let batch = "B\(try await queue.number("SELECT submitter FROM analysis.job WHERE id = \(own[0])"))"
        _ = try await JobDirectory(queue.pool).change([own[2]], .cancel)
        try await withPages(login) { (pages) async throws in
          let job = own[0]
          let lists = ["/jobs?batch=\(batch)", "/jobs?batch=\(batch)&state=cancelled", "/batches/\(batch)"]
          for path in ["/jobs", "/batches"] + lists {
            let page = try pages.get(path)
            #expect(page.status == 200 && !page.text.contains("href=\"/jobs/\(job)\""), "\(path)")
            #expect(!page.text.contains("name=\"cause\""), "\(path): it may not ask for causes")
            let offers = page.text.matches(of: #/href="([^"]*\/(?:cancel|uncancel|retry)[^"]*)"/#)
            #expect(offers.isEmpty != lists.contains(path), "\(path)")
            for offer in offers {
              let question = try pages.get(String(offer.1).replacing("&amp;", with: "&"))
              #expect(question.status == 200, "\(path) offers \(offer.1): \(question.status)")
            }
          }
          let one = "/jobs/\(job)/cancel?batch=\(batch)"
          #expect(try pages.get(lists[0]).text.contains("href=\"\(one)\""))
          #expect(try pages.confirm(one).text.contains("Job \(job): cancelled."))
          #expect(try pages.confirm("/jobs/\(job)/uncancel?batch=\(batch)").text.contains("queued again"))
          #expect(
            try pages.confirm("/matching/cancel?batch=\(batch)").text.contains("2 jobs: cancelled."))
          #expect(try await states(queue, own) == [.cancelled, .cancelled, .cancelled])
          // What another login has submitted it cannot name, by a form that was made for its own neither.
          #expect(try pages.get("/jobs/\(foreign)/cancel").status == 404)
          let token = PageClient.fields(try pages.get("/jobs/\(job)/uncancel").text)
          let sent = try pages.post("/jobs/\(foreign)/cancel", token)
          #expect(sent.status == 303 && sent.headers["location"] == "/jobs")
          let page = try pages.get("/jobs").text
          #expect(page.contains("there is no such job") && PageClient.isRefusal(page))
          #expect(try await states(queue, [foreign]) == [.waiting])
          for path in [
            "/jobs?user=ann", "/jobs/\(job)", "/jobs/\(job)/retry", "/matching/cancel?user=ann", "/pause",
          ] {
            let page = try pages.get(path)
            #expect(page.status == 403 && PageClient.isRefusal(page.text), "\(path): \(page.status)")
          }
        }
      }
    }
  }

  @Test("a group of dead jobs is retried, the others of other causes stay")
  func group() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      var jobs: [JobID] = []
      for image in ["a", "b", "c"] { jobs.append(JobID(try await queue.deadJob("ann", image: image))) }
      try await queue.execute("UPDATE analysis.dead SET class = 'image' WHERE job_id = \(jobs[2])")
      try await withPages(queue.pool) { (pages) async throws in
        let page = try pages.get("/failures").text
        let path = "/matching/retry?like=\(jobs[1])"
        #expect(page.contains("href=\"\(path)\"") && page.contains("like=\(jobs[2])"))
        #expect(try pages.confirm(path).text.contains("2 jobs: queued again"))
        #expect(try await states(queue, jobs) == [.waiting, .waiting, .dead])
        let again = try pages.get(path)
        #expect(again.status == 409 && again.text.contains("No longer dead"))
        #expect(try pages.get("/matching/retry?cause=store").status == 404)
      }
    }
  }

  @Test("a batch shows how far it is; what is left of it is cancelled")
  func batch() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let jobs = try await queue.submit(3, user: "ann")
      try await queue.execute(
        """
        INSERT INTO analysis.batch (created_at, submitter, name) VALUES (now(), 1, 'ward 3');
        INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id)
        SELECT j.shard, j.period, j.id, j.user_id, 1 FROM analysis.job j;
        """)
      _ = try await JobDirectory(queue.pool).change([jobs[0]], .cancel)
      try await withPages(queue.pool) { (pages) async throws in
        let list = try pages.get("/batches").text
        #expect(list.contains("ward 3") && list.contains("1 of 3"))
        let page = try pages.get("/batches/B1").text
        #expect(
          page.contains("<progress max=\"3\" value=\"1\"") && page.contains("/matching/cancel?batch=B1"))
        #expect(try pages.confirm("/matching/cancel?batch=B1").text.contains("2 jobs: cancelled."))
        #expect(try pages.get("/batches/B1").text.contains("3 of 3"))
        #expect(try pages.get("/batches/B2").status == 404)
      }
    }
  }

  @Test("the queue is paused and resumed")
  func pause() async throws {
    try await withQueue { queue in
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          #expect(try pages.get("/").text.contains("Nothing is paused."))
          let accented = "a" + String(repeating: "\u{301}", count: 500)
          let refused = try pages.confirm("/pause?type=ear", reason: accented)
          #expect(refused.status == 400 && refused.text.contains("A reason has at most 500 characters."))
          #expect(PageClient.isRefusal(refused.text))
          #expect(try pages.confirm("/pause?type=ear", reason: "upgrade").text.contains("ear is paused."))
          let page = try pages.get("/").text
          #expect(page.contains("upgrade") && page.contains("/resume?type=ear"))
          #expect(try pages.confirm("/resume?type=ear").text.contains("ear is resumed."))
          #expect(try await PauseDirectory(login).inForce().isEmpty)
        }
      }
    }
  }

  @Test("a form without its own page's token, or with jobs that are none, changes nothing")
  func forged() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = try await queue.submit(1, user: "ann")[0]
      try await withPages(queue.pool) { (pages) async throws in
        let path = "/matching/cancel?user=ann"
        let jobs = JobNumbers.text([job])
        #expect(try pages.post(path, [("jobs", jobs)]).status == 403)
        #expect(try pages.post(path, [("jobs", jobs), ("token", "0")]).status == 403)
        let token = PageClient.fields(try pages.get(path).text).filter { $0.0 == "token" }
        for jobs in ["", "x y", "-1", "0", "1..2", "zzzzzzzzzzzzzzzzzzzz"] {
          #expect(try pages.post(path, token + [("jobs", jobs)]).status == 400, "\(jobs)")
        }
        #expect(try await states(queue, [job]) == [.waiting])
      }
    }
  }

  @Test("the numbers of jobs come back from the field of a form as they were")
  func numbers() {
    let jobs = [1, 2, 66, 1_000_000, Int64.max].map { JobID($0) }
    #expect(JobNumbers.read(JobNumbers.text(jobs), atMost: 5) == jobs)
    #expect(JobNumbers.read(JobNumbers.text(jobs), atMost: 4) == nil)
  }
}
