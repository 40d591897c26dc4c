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
      try await withLogin("dr$1", of: ["clinician"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let path = "/jobs/\(job)/review"
          let before = try pages.get("/jobs/\(job)").text
          #expect(before.contains("Nobody has reviewed it.") && before.contains("href=\"\(path)\""))
          let form = try pages.get(path)
          #expect(form.text.contains("<h1>Review of job \(job)</h1>"))
          for key in ["a", "d", "u", "i", "c", "Enter"] {
            #expect(form.text.contains("<kbd>\(key)</kbd>"), "\(key)")
          }
          // A clinician sees no picture.
          #expect(!form.text.contains("<img") && form.text.contains("the role analysis_reviewer"))
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
          let other = try pages.post(path, fields + [("verdict", "disagree"), ("instead", "<i>Flu</i>")])
          #expect(other.status == 303)
          let shown = try pages.get("/jobs/\(job)").text
          #expect(shown.contains("disagree, &lt;i&gt;Flu&lt;/i&gt; instead</strong>"), "\(shown)")
          #expect(try pages.get(path).text.contains("value=\"&lt;i&gt;Flu&lt;/i&gt;\""), "it is there again")
          #expect(try pages.post(path, fields + [("verdict", "agree"), ("instead", "Flu")]).status == 400)
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
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.review") == 3)
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
        for path in ["/reviews", "/reviews/to-review", "/jobs/\(job)/review"] {
          let answer = try served.get(path)
          #expect(answer.status == 403 && answer.text.contains(refusal), "\(path)")
        }
        let page = try served.get("/jobs/\(job)").text
        #expect(!page.contains("href=\"/reviews\"") && !page.contains("/review\""))
      }
      try await withLogin("eve", of: ["reviewer"], in: queue) { (login) async throws in
        try await withDashboard(login, reviewsRefusal: refusal) { (served) async throws in
          #expect(try served.get("/jobs/\(job)/picture").status == 404)
        }
      }
    }
  }

  /// Analyses of two clinics and of nobody's, whose confidences are as they are given; the serious ones first.
  private func withSeveral(
    _ body: (_ queue: QueueFixture, _ jobs: [Int64]) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "sue", "eve"] { try await queue.addUser(user) }
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south'),
          analysis.assign_clinic(0::smallint, 'ann', 'north'), analysis.assign_clinic(0::smallint, 'sue', 'south')
        """)
      let asks = (0..<6).map { Ask(["ann", "sue", "eve"][$0 % 3], image: "photo \($0)") }
      let jobs = try await queue.create(asks)
      _ = try await queue.complete(try await queue.claim(6))
      for (index, (confidence, isSerious, name)) in [
        (0.9, true, "Tonsillitis"), (0.5, false, "Pharyngitis"), (0.7, true, "Tonsillitis"),
        (0.45, false, "Tonsillitis"), (0.95, false, "Otitis <b>"), (0.3, false, "Pharyngitis"),
      ].enumerated() {
        try await queue.execute(
          """
          UPDATE analysis.result SET primary_confidence = \(confidence), serious = \(isSerious), primary_name = '\(name)',
            conditions = jsonb_set(jsonb_set(conditions, '{0,confidence}', '\(confidence)'), '{0,name}', '"\(name)"'),
            model = 'throat <7>'
          WHERE job_id = \(jobs[index])
          """)
      }
      try await body(queue, jobs)
    }
  }

  /// The jobs of the list of a page, in its order.
  private static func listed(_ page: String) -> [Int64] {
    page.matches(of: /<th[^>]*><a href="\/jobs\/([0-9]+)\/review/).compactMap { Int64($0.1) }
  }

  @Test(
    "What is to be reviewed: the serious first, then the least certain, of what the login sees and filters")
  func queue() async throws {
    try await withSeveral { (queue, jobs) async throws in
      let order = [2, 0, 5, 3, 1, 4].map { jobs[$0] }
      try await withLogin("dr", of: ["reviewer"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          let all = try pages.get("/reviews/to-review")
          #expect(all.status == 200 && Self.listed(all.text) == order, "\(all.text)")
          #expect(all.text.contains("Begin with the first of 6") && all.text.contains("All 6"))
          #expect(all.text.contains("<rect width=\"70\" height=\"8\"/>"), "\(all.text)")
          let filters: [(String, [Int])] = [
            ("condition=Pharyngitis", [5, 1]), ("clinic=north", [0, 3]), ("clinic=nowhere", []),
            ("clinic=south&condition=Pharyngitis", [1]), ("type=ear", []),
            ("type=throat&clinic=south", [4, 1]),
          ]
          for (query, expected) in filters {
            let page = try pages.get("/reviews/to-review?\(query)").text
            #expect(Set(Self.listed(page)) == Set(expected.map { jobs[$0] }), "\(query): \(page)")
          }
          #expect(try pages.get("/reviews/to-review?type=nose").status == 400)
          // Each names its words, from which the list goes on.
          let narrowed = try pages.get("/reviews/to-review?condition=Pharyngitis").text
          #expect(narrowed.contains("/jobs/\(jobs[5])/review?condition=Pharyngitis\""), "\(narrowed)")
          let review = try pages.get("/jobs/\(jobs[5])/review?condition=Pharyngitis").text
          #expect(
            review.contains("name=\"next\" value=\"\(jobs[1])\"") && review.contains("1 more in the list."))
        }
        // Whom the login does not see, and where reviews are off, is not in it.
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{north, south}')")
        try await withPages(login) { (pages) async throws in
          #expect(Self.listed(try pages.get("/reviews/to-review").text) == [0, 3, 1, 4].map { jobs[$0] })
          try await queue.execute(
            """
            SELECT analysis.set_product('plain', '{reviews}'),
              analysis.set_clinic('south', NULL, NULL, 'plain', NULL, NULL)
            """)
          #expect(Self.listed(try pages.get("/reviews/to-review").text) == [0, 3].map { jobs[$0] })
          try await queue.erase("ann")
          #expect(try pages.get("/reviews/to-review").text.contains("Nothing is to be reviewed."))
        }
      }
      // What was listed stands in the audit, and never by which condition.
      let entries = try await queue.texts(
        """
        SELECT DISTINCT concat_ws(' ', object, detail - 'reading' - 'clinics') FROM analysis.audit_entry
        WHERE action = 'list_reviews' ORDER BY 1
        """)
      #expect(
        entries == [
          "to_review {\"type\": 1}", "to_review {\"type\": 2}", "to_review {}",
        ])
    }
  }

  @Test("Reviewed one after the other by the form alone, each once, and each view of a photo is recorded")
  func oneAfterTheOther() async throws {
    try await withSeveral { (queue, jobs) async throws in
      let order = [2, 0, 5, 3, 1, 4].map { jobs[$0] }
      try await withLogin("dr$1", of: ["reviewer"], in: queue) { (login) async throws in
        try await withPages(login) { (pages) async throws in
          var path = "/jobs/\(order[0])/review"
          for (index, job) in order.enumerated() {
            #expect(path == "/jobs/\(job)/review")
            let page = try pages.get(path)
            #expect(page.headers["cache-control"] == "no-store")
            if index > 0 {
              #expect(page.text.contains("<p>Job \(order[index - 1]): "), "what was said of the last")
            }
            #expect(page.text.contains("src=\"/jobs/\(job)/picture\""), "\(page.text)")
            #expect(page.text.contains("<dt>Model</dt><dd>throat &lt;7&gt;</dd>"))
            #expect(page.text.contains("<span class=\"primary\">primary</span>"))
            for key in ["f", "1", "r", "a", "d", "u", "i", "c", "Enter"] + (index < 5 ? ["n"] : []) {
              #expect(page.text.contains("<kbd>\(key)</kbd>"), "\(key)")
            }
            // What the installation knows of the type.
            #expect(page.text.contains("<option value=\"Otitis &lt;b&gt;\"></option>"))
            let picture = try pages.get("/jobs/\(job)/picture")
            #expect(picture.status == 200 && picture.headers["cache-control"] == "no-store")
            let sent = try pages.post(
              path,
              PageClient.fields(page.text) + [("verdict", index == 1 ? "unsure" : "agree"), ("go", "next")])
            #expect(sent.status == 303)
            path = sent.headers["location"] ?? ""
          }
          #expect(path == "/reviews/to-review")
          let end = try pages.get(path).text
          #expect(end.contains("Job \(order[5]): agree.") && end.contains("Nothing is to be reviewed."))
          // Ann had an earlier one, which is shown with the later.
          let later = try pages.get("/jobs/\(jobs[3])/review").text
          #expect(later.contains("href=\"/jobs/\(jobs[0])\"") && later.contains("90%"), "\(later)")
          #expect(later.contains("value=\"agree\" data-key=\"a\" checked"), "the verdict that was given")
        }
      }
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.review") == 6)
      let seen = try await queue.texts(
        "SELECT object FROM analysis.audit_entry WHERE action = 'read_image' ORDER BY at")
      #expect(seen == order.map { "job:\($0)" })
    }
  }

  @Test("The script and the rules of a review's page are this program's own")
  func files() async throws {
    try await withQueue { queue in
      try await withDashboard(queue.pool) { served in
        let script = try served.get("/review.js")
        #expect(script.status == 200 && script.headers["content-type"]?.hasPrefix("text/javascript") == true)
        #expect(script.text.contains("requestSubmit"))
        #expect(try served.get("/style.css").text.contains(".review .photo"))
      }
    }
  }
}
