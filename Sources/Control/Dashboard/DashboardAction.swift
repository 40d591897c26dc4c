import HTTPServing
import Queue
import Support

/// Something that a page changes. Its address, asked for, shows what would be done and what cannot be undone; the form
/// there does it, and leads to a page that says what was done.
struct DashboardAction: Sendable {
  /// The path; a `*` stands for any one part of it. What else the action needs stands in the query.
  let path: String
  let section: Section
  /// The roles of which any may do it, the one first that is meant for it.
  let roles: [DatabaseRole]
  /// What is asked before.
  let confirm: @Sendable (HTTPRequest, DashboardContext) async throws -> PageConfirmation
  /// Does it, once the confirmation's form was sent from this dashboard's own page.
  let perform: @Sendable (HTTPRequest, DashboardContext) async throws -> Outcome

  /// What was done, and the page to go on with.
  struct Outcome: Sendable {
    let message: Message
    /// One that this login may see.
    let path: String

    init(message: Message, path: String) {
      self.message = message
      self.path = path
    }

    init(done text: String, path: String) {
      self.init(message: Message(kind: .done, text: text), path: path)
    }
  }

  static let all: [DashboardAction] =
    MatchingJobs.actions + JobActions.all + [JobReviews.action] + Pauses.actions + [verifyAudit]
}

/// What is asked before something is changed.
struct PageConfirmation: Sendable {
  /// What is to be done: `Cancel 12 jobs?`
  var title: String
  /// The count, and what cannot be undone.
  var content: HTML
  /// What is entered, as labelled fields; nil for nothing.
  var inputs: HTML?
  /// What does it, and the way back (`sure`).
  var buttons: HTML
  /// Whether it says why, for the audit; the field is `reason`.
  var asksForReason = true
  /// What the form carries beside the query, for `perform` to read.
  var fields: [(name: String, value: String)] = []
  /// What stands below the form.
  var below: HTML?
  /// The class of what stands around all of it; nil: nothing does.
  var layout: StaticString?

  /// A button that says what it does, `Cancel 12 jobs`, and where to go to do nothing.
  static func sure(_ button: String, back: String) -> HTML {
    "<p class=\"buttons\"><button class=\"danger\">\(button)</button> <a href=\"\(back)\">Change nothing</a></p>"
  }

  /// The form. It is sent to the address that it was read at, with the token of its reader.
  func form(at address: String, token: String) -> HTML {
    let whole: HTML = """
      \(content)
      \(form(to: address, token))
      \(below)
      """
    return layout.map { layout in "<div class=\"\(layout.description)\">\n\(whole)</div>" } ?? whole
  }

  private func form(to address: String, _ token: String) -> HTML {
    """
    <form method="post" action="\(address)" class="confirm">
    <input type="hidden" name="token" value="\(token)">
    \(inputs)    \(fields.map { field in "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">" as HTML })\
    \(asksForReason ? Self.reasonField : "" as HTML)
    \(buttons)
    </form>
    """
  }

  /// What was given as the reason; nil for none.
  static func reason(_ request: HTTPRequest) throws -> String? {
    guard let reason = request.form["reason"], !reason.isEmpty else { return nil }
    // As the database counts them: one that is read as a single character may be made of thousands.
    guard reason.unicodeScalars.count <= 500 else {
      throw PageFailure.invalid("A reason has at most 500 characters.")
    }
    return reason
  }

  private static let reasonField: HTML = """
    <p><label for="reason">Why, for the audit; no names of people</label>
    <input id="reason" name="reason" maxlength="500" autocomplete="off"></p>
    """
}
