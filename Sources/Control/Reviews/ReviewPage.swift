import HTTPServing
import Queue
import Support

extension JobReviews {
  /// The review of an analysis: the photo, what was found, and the verdict. It is the next one of a list where the
  /// address has the list's words.
  static let action = DashboardAction(
    path: "/jobs/*/review", section: .reviews, roles: roles,
    confirm: { request, context in try await confirm(request, context) },
    perform: { request, context in try await perform(request, context) })

  /// How many of the user's earlier analyses are shown.
  private static let mostEarlier = 5

  private static func confirm(
    _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> PageConfirmation {
    try context.requireReviews()
    let job = try JobPage.job(request)
    let question = try ReviewQuestion(request.query)
    let detail = try await detail(job, context)
    guard let result = detail.result else {
      throw PageFailure.missing(
        "There is no analysis of job \(job), or none that login \(context.login) may see.")
    }
    let reviews = ReviewDirectory(context.database, shards: context.shards)
    let findings = StoredCondition.read(result.conditionsJSON)
    let remarks = try await reviews.remarks(on: detail)
    let place = ReviewPlace(
      isSerious: result.isSerious ?? false, confidence: findings.first?.confidence, job: job)
    let after = try await reviews.toReview(question, after: place, limit: 1, by: context.actor(reason: nil))
    let next = after.analyses.first?.job
    let conditions = try await context.reviewChoices(detail.summary.lane.kind).conditions
    let photo = try await context.has(JobPicture.roles) ? viewer(job) : noPicture
    let before = try await earlier(detail, context)
    return PageConfirmation(
      title: "Review of job \(job)",
      content: """
        \(photo)
        <div class="findings">
        \(self.findings(findings, result))
        \(facts(detail, result))
        </div>
        """,
      inputs: inputs(mine(remarks, context), conditions, next: next),
      buttons: buttons(next, left: after.count, question), asksForReason: false,
      below: """
        <div class="below">
        <h2>Earlier analyses of user \(detail.summary.user.shortened(to: JobsPage.nameLength))</h2>
        \(before)
        <h2>What was said of this one</h2>
        \(list(remarks, of: job))
        <p class="quiet">The verdict is that of login \(context.login), which has one of each job: another one takes the \
        place of the one before, which is kept. The audit records who looks and who reviews, without the verdict and the \
        comment.</p>
        </div>
        <script src="\(ReviewScript.path)" defer></script>
        """,
      layout: "review")
  }

  /// The job with its analysis, of which is recorded that it is read.
  private static func detail(_ job: JobID, _ context: DashboardContext) async throws -> JobDetail {
    guard var detail = try await context.jobs.showWithoutResult(job) else {
      throw PageFailure.missing("There is no job \(job), or none that login \(context.login) may see.")
    }
    guard detail.summary.state == .succeeded else {
      throw PageFailure(
        status: 409, title: "Not possible",
        message: "Job \(job) is \(detail.summary.state.rawValue), and only an analysis can be reviewed.",
        advice: "Look at the job again once it has succeeded.")
    }
    try await context.jobs.readResult(of: &detail, by: context.actor(reason: nil))
    return detail
  }

  // MARK: - What is judged

  private static let noPicture: HTML = """
    <div class="viewer"><p class="notice">The photo is for logins with the role analysis_reviewer.</p></div>
    """

  /// The photo, which is fitted or as large as it is, and turned, by buttons that need no script.
  private static func viewer(_ job: JobID) -> HTML {
    let turns = ["0", "90", "180", "270"].map { angle -> HTML in
      """
      <input type="radio" name="turn" id="turn-\(angle)"\(angle == "0" ? " checked" : "" as HTML)>\
      <label for="turn-\(angle)">\(angle)°</label>

      """
    }
    return """
      <section class="viewer" aria-label="The photo">
      <input type="radio" name="size" id="fit" data-key="f" checked><label for="fit">Fit \(key("f"))</label>
      <input type="radio" name="size" id="full" data-key="1"><label for="full">100 % \(key("1"))</label>
      <span>Turn \(key("r"))</span>
      \(turns)<label class="switch"><input type="checkbox" id="keys" checked> Keys of the keyboard</label>
      <div class="photo" tabindex="0" role="region" aria-label="The photo, to be moved by the arrow keys">\
      <img src="/jobs/\(job.description)/picture" alt="The photo of job \(job.description)"></div>
      <p><a href="/jobs/\(job.description)/picture">The photo alone</a></p>
      </section>
      """
  }

  private static func findings(_ findings: [StoredCondition], _ result: StoredResult) -> HTML {
    let serious: HTML =
      result.isSerious == true
      ? "<p class=\"notice bad\"><strong>Serious</strong>, by what was found.</p>\n" : ""
    guard !findings.isEmpty else { return "\(serious)<p class=\"empty\">No condition was found.</p>" }
    let items = findings.enumerated().map { index, finding -> HTML in
      let name: HTML = "\(finding.name.shortened(to: 200))"
      return """
        <li>\(index == 0 ? "<strong>\(name)</strong> <span class=\"primary\">primary</span>" : name)<br>\
        \(HTML.confidence(finding.confidence, finding.mark))</li>

        """
    }
    return "\(serious)<ol class=\"found\">\n\(items)</ol>"
  }

  private static func facts(_ detail: JobDetail, _ result: StoredResult) -> HTML {
    HTML.facts([
      ("Model", result.model.map { "\($0)" }), ("Endpoint", result.endpoint.map { "\($0)" }),
      ("Worker", result.version.map { "version \($0)" }),
      ("Type", detail.summary.lane.kind.map { "\($0.rawValue)" }), ("Stored", .time(result.finishedAt)),
      ("Job", .link("/jobs/\(detail.summary.id)", [], detail.summary.id.description)),
    ])
  }

  /// The user's analyses before this one. That they are read is recorded too.
  private static func earlier(
    _ detail: JobDetail, _ context: DashboardContext
  ) async throws -> HTML {
    let job = detail.summary
    let page = try await context.jobs.list(
      JobFilter(user: job.user, state: .succeeded), after: job.cursor, limit: mostEarlier)
    let results = try await context.jobs.results(
      of: [job.user: page.jobs.map(\.id)], by: context.actor(reason: nil))
    let items = page.jobs.compactMap { job -> HTML? in
      results[job.id].map { result in
        """
        <li>\(HTML.time(result.finishedAt)), \(HTML.link("/jobs/\(job.id)", [], "job \(job.id)")): \(result.primary)</li>

        """
      }
    }
    return items.isEmpty ? "<p class=\"empty\">There are none.</p>" : "<ol class=\"found\">\n\(items)</ol>"
  }

  // MARK: - The verdict

  /// The present verdict of this login; nil: it has given none.
  private static func mine(
    _ remarks: [ReviewRemark], _ context: DashboardContext
  ) -> (verdict: Verdict, instead: String?)? {
    for remark in remarks where remark.by == context.login {
      if case .verdict(let verdict, let instead, _, nil) = remark.said { return (verdict, instead) }
    }
    return nil
  }

  private static func key(_ name: String) -> HTML { "<kbd>\(name)</kbd>" }

  private static func inputs(
    _ mine: (verdict: Verdict, instead: String?)?, _ conditions: [String], next: JobID?
  ) -> HTML {
    let verdicts: [(Verdict, name: String, key: String)] = [
      (.agree, "Agree", "a"), (.disagree, "Disagree", "d"), (.unsure, "Unsure", "u"),
    ]
    let radios = verdicts.map { verdict, name, key -> HTML in
      """
      <label><input type="radio" name="verdict" value="\(verdict.rawValue)" data-key="\(key)"\
      \(mine?.verdict == verdict ? " checked" : "" as HTML)> \(name) \(Self.key(key))</label>

      """
    }
    return """
      <input type="hidden" name="next" value="\(next?.description ?? "")">
      <fieldset><legend>Is the primary condition right?</legend>
      \(radios)</fieldset>
      <p><label for="instead">If you disagree: what it is instead \(key("i"))</label>
      <input id="instead" name="instead" list="conditions" maxlength="\(ReviewDirectory.mostInstead)" \
      autocomplete="off" data-key="i" value="\(mine?.instead ?? "")"></p>
      <datalist id="conditions">\(conditions.map { name in "<option value=\"\(name)\"></option>" as HTML })</datalist>
      <p><label for="comment">Comment, for those who may read the analysis \(key("c"))</label>
      <textarea id="comment" name="comment" rows="2" maxlength="\(ReviewDirectory.mostCharacters)" \
      data-key="c"></textarea></p>
      """
  }

  private static func buttons(_ next: JobID?, left: Int, _ question: ReviewQuestion) -> HTML {
    let pass = next.map { next in
      "<a class=\"button\" data-key=\"n\" href=\"\(question.address(of: next))\">Next, without saving \(key("n"))</a>"
        as HTML
    }
    return """
      <p id="review-state" role="status" class="bad"></p>
      <p class="buttons"><button id="save" name="go" value="next">Save and next \(key("Enter"))</button>
      <button name="go" value="stay">Save</button> \(pass)
      <a href="\(question.address(ToReviewPage.path))">The list</a></p>
      <p class="quiet">\(left == 0 ? "It is the last one of the list." : "\(left) more in the list.")</p>
      """
  }

  private static func perform(
    _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> DashboardAction.Outcome {
    try context.requireReviews()
    let job = try JobPage.job(request)
    let question = try ReviewQuestion(request.query)
    let name = request.form["verdict"] ?? ""
    let verdict = Verdict(rawValue: name)
    guard verdict != nil || name.isEmpty else {
      throw PageFailure.invalid("A verdict is agree, disagree or unsure.")
    }
    let instead = try text("instead", request, atMost: ReviewDirectory.mostInstead)
    guard instead == nil || verdict == .disagree else {
      throw PageFailure.invalid("What it is instead goes with the verdict disagree alone.")
    }
    let comment = try text("comment", request, atMost: ReviewDirectory.mostCharacters)
    guard verdict != nil || comment != nil else {
      throw PageFailure.invalid("A review has a verdict or a comment.")
    }
    let outcome = try await ReviewDirectory(context.database, shards: context.shards).add(
      verdict, instead: instead, comment: comment, to: job, by: context.actor(reason: nil))
    let said = verdict.map { verdict in
      let text = verdict.text(instead: instead)
      return outcome.before == verdict && outcome.beforeInstead == instead ? "\(text), as before" : text
    }
    let parts = [said, outcome.comment == nil ? nil : "a comment was added"].compactMap(\.self)
    var path = "/jobs/\(job)"
    if request.form["go"] == "next" {
      let next = request.form["next"].flatMap { JobID($0) }
      path = next.map { question.address(of: $0) } ?? question.address(ToReviewPage.path)
    }
    return .init(done: "Job \(job): \(parts.joined(separator: "; ")).", path: path)
  }

  /// A field of the form, with the line ends that a browser sends as one character each; nil for none.
  private static func text(_ name: String, _ request: HTTPRequest, atMost most: Int) throws -> String? {
    let text = (request.form[name] ?? "").replacing("\r\n", with: "\n")
    guard printable(text).contains(where: { !$0.isWhitespace }) else { return nil }
    guard text.unicodeScalars.count <= most else {
      throw PageFailure.invalid("The field \(name) has at most \(most) characters.")
    }
    return text
  }
}
