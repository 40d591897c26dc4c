import HTTPTestSupport
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The dashboard's reviews", .onOwnThread)
struct ReviewPageTests {
  /// A user with an analysed job and one that waits.
  private func with(_ body: (_ queue: QueueFixture, _ job: Int64, _ waiting: Int64) async throws -> Void)
    async throws
  {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let job = try #require(try await queue.submit([Ask("ann", image: "a")])[0].job)
      _ = try await queue.complete(try await queue.claim())
      let waiting = try #require(try await queue.submit([Ask("ann", image: "b")])[0].job)
      try await body(queue, job, waiting)
    }
  }

  @Test("A clinician reviews a job on its page, where the thread stands, escaped and in its lines")
  func review() async throws {
    try await with { (queue, job, waiting) async throws in
      try await withLogin("dr", of: ["clinician"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let path = "/jobs/\(job)/review"
          let before = try pages.get("/jobs/\(job)").text
          #expect(before.contains("Nobody has reviewed it.") && before.contains("href=\"\(path)\""))
          let form = try pages.get(path)
          #expect(
            form.text.contains("<h1>Review job \(job)?</h1>") && form.text.contains("<select id=\"verdict\""))
          let fields = PageClient.fields(form.text)
          func send(_ verdict: String, _ comment: String) throws -> RawClient.Response {
            try pages.post(path, fields + [("verdict", verdict), ("comment", comment)])
          }
          let sent = try send("disagree", "<script>alert(1)</script>\r\n\u{1B}[31mtwo \u{202E}lines")
          #expect(sent.status == 303 && sent.headers["location"] == "/jobs/\(job)")
          let after = try pages.get("/jobs/\(job)").text
          #expect(after.contains("Job \(job): disagree; a comment was added."), "\(after)")
          #expect(after.contains("<strong class=\"bad\">disagree</strong>"))
          #expect(
            after.contains("wrote<br>&lt;script&gt;alert(1)&lt;/script&gt;<br>[31mtwo lines</li>"), "\(after)"
          )
          #expect(try send("agree", "").status == 303)
          #expect(try pages.get("/jobs/\(job)").text.contains("disagree, changed later"))
          for (verdict, comment) in [
            ("", " \n"), ("maybe", ""), ("agree", String(repeating: "x", count: 4001)),
          ] {
            let refused = try send(verdict, comment)
            #expect(refused.status == 400 && PageClient.isRefusal(refused.text), "\(verdict)")
          }
          #expect(try pages.post(path, [("verdict", "agree")]).status == 403)
          #expect(try pages.get("/jobs/\(waiting)/review").status == 409)
          #expect(try pages.get("/jobs/987654321/review").status == 404)
        }
      }
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.review") == 2)
    }
  }

  @Test("Who may not review is not offered it and is refused; what a page brings up to date reads nothing")
  func others() async throws {
    try await with { (queue, job, _) async throws in
      for role in ["operator", "reporter"] {
        try await withLogin(of: [role], in: queue) { (login) async throws in
          try await withDashboard(login) { (served) async throws in
            if role == "operator" {
              let page = try served.get("/jobs/\(job)").text
              #expect(!page.contains("Reviews</h2>") && !page.contains("/review\""))
            }
            let form = try served.get("/jobs/\(job)/review")
            #expect(form.status == 403 && form.text.contains("needs the role analysis_clinician"), "\(role)")
            #expect(try served.get("/reviews").status == (role == "reporter" ? 200 : 403))
          }
        }
      }
      try await withPages(queue.pool) { (pages) async throws in
        #expect(!(try pages.get("/jobs/\(job)", live: true).text.contains("Reviews</h2>")))
      }
    }
  }

  @Test("The page of reviews has tables, charts with their numbers in words, and the calibration error")
  func page() async throws {
    try await with { (queue, job, _) async throws in
      try await withPages(queue.pool) { (pages) async throws in
        let empty = try pages.get("/reviews")
        #expect(empty.status == 200 && empty.text.contains("<h1>Reviews</h1>"), "\(empty.text)")
        #expect(!empty.text.contains("<figure>"))
        _ = try await ReviewDirectory(queue.pool).add(.agree, to: JobID(job), by: nil)
        let text = try pages.get("/reviews").text
        // One verdict at 0.85.
        #expect(text.contains("<dt>Expected calibration error</dt><dd>15.0%</dd>"), "\(text)")
        #expect(text.contains("<dt>Interval of 95 %</dt><dd>21% to 100%</dd>"))
        #expect(
          text.contains(
            "<title>How many clinicians agree. Tonsillitis, red: 100%, between 21% and 100%, 1 of 1</title>"))
        #expect(
          text.contains("At 85% confidence 100% agree, between 21% and 100%, 1</title>"), "\(text)")
        #expect(
          text.contains("<caption>Verdicts by the primary condition of the analysis and its band</caption>"))
        #expect(text.contains(/80-90 %<\/th><td[^>]*>85%<\/td><td[^>]*>1<\/td><td[^>]*>0<\/td>/))
        let month = try pages.get("/reviews?from=2020-01&to=2020-02").text
        #expect(month.contains("Nobody has reviewed an analysis of these months.") || month.contains(">All<"))
        for query in ["from=x", "from=2026-02&to=2026-01", "from=2000-01&to=2026-01"] {
          #expect(try pages.get("/reviews?\(query)").status == 400, "\(query)")
        }
      }
    }
  }

  @Test("Counts of few patients are hidden on the page too")
  func hidden() async throws {
    try await with { (queue, job, _) async throws in
      _ = try await ReviewDirectory(queue.pool).add(.agree, to: JobID(job), by: nil)
      try await withLogin("dr", of: ["clinician"], in: queue) { (login) async throws in
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute(
          """
          SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'ann', 'north'),
            analysis.grant_clinics('\(name)', '{north}')
          """)
        try await withPages(login) { (pages) async throws in
          let text = try pages.get("/reviews").text
          #expect(text.contains("<dt>Verdicts</dt><dd>&lt;5</dd>"), "\(text)")
          #expect(text.contains("This login sees some clinics only") && !text.contains("<figure>"))
          #expect(!text.contains("100%"))
          // Of one month, which is the running one unless another is asked for.
          #expect(text.contains(">Month</label>") && !text.contains("Last month"))
          let month = try await queue.text("SELECT analysis.period_text(analysis.current_month())")
          #expect(text.contains("name=\"from\" value=\"\(month)\""), "\(text)")
          let months = try pages.get("/reviews?from=2026-01&to=2026-02")
          #expect(months.status == 400 && months.text.contains("reads reviews of one month at a time"))
          for query in ["from=2026-01", "to=2026-01", "from=2026-01&to=2026-01"] {
            let one = try pages.get("/reviews?\(query)")
            #expect(one.status == 200 && one.text.contains("value=\"2026-01\""), "\(query): \(one.text)")
          }
        }
      }
    }
  }

  @Test(
    "Where the product has switched reviews off, the menu leads nowhere to them and they are refused by name")
  func switchedOff() async throws {
    try await with { (queue, job, _) async throws in
      let refusal = "feature reviews is off in product plain, by line 2 of plain.conf"
      try await withDashboard(queue.pool, reviewsRefusal: refusal) { (served) async throws in
        for path in ["/reviews", "/jobs/\(job)/review"] {
          let answer = try served.get(path)
          #expect(answer.status == 403 && answer.text.contains(refusal), "\(path)")
        }
        let page = try served.get("/jobs/\(job)").text
        #expect(!page.contains("href=\"/reviews\"") && !page.contains("/review\""))
      }
    }
  }
}
