import PostgreSQL
import Queue
import Support

/// Why there is no page: what happened, and what to do about it.
struct PageFailure: Error {
  var status: Int
  var title: String
  var message: String
  /// What to do next.
  var advice: String
  /// Whether the page asks again by itself.
  var isLive = false

  /// Nothing is there by that name or number.
  static func missing(_ message: String) -> PageFailure {
    PageFailure(
      status: 404, title: "Not found", message: message,
      advice: "Look for it on one of the pages that the menu leads to.")
  }

  /// The address or the form cannot be understood.
  static func invalid(_ message: String) -> PageFailure {
    PageFailure(
      status: 400, title: "Not understood", message: message,
      advice: "Nothing was changed. Go back, and correct what was entered.")
  }

  /// A page that brings itself up to date has to wait, and there is nothing to show it meanwhile.
  static let notItsTurn = PageFailure(
    status: 503, title: "Other open pages are read first",
    message: "Many pages are open, which are read in turn, so that they cost the database little.",
    advice: "This page asks again by itself. Load it anew to have it read at once.", isLive: true)

  /// The page that says so.
  var page: Page { Page(title: title, content: notice, isLive: isLive, status: status) }

  /// What happened and what to do next, as a refusal is shown.
  var notice: HTML { Message(kind: .refused, text: message, advice: advice).html }
}

/// What a reader sees where something could not be shown.
struct Message: Sendable {
  enum Kind: Sendable {
    /// All of it was done.
    case done
    /// Some of it was done.
    case partly
    case refused
  }

  let kind: Kind
  let text: String
  /// What to do next.
  var advice: String?

  /// A notice; a refusal is read out at once.
  var html: HTML {
    let advice = advice.map { advice in "<p>\(advice)</p>\n" as HTML }
    let (style, role): (HTML, HTML) =
      switch kind {
      case .done: ("good", "status")
      case .partly: ("warn", "alert")
      case .refused: ("bad", "alert")
      }
    return "<div class=\"notice \(style)\" role=\"\(role)\">\n<p>\(text)</p>\n\(advice)</div>\n"
  }
}

extension PageFailure {
  /// A login may not read a page for which it needs any of some roles.
  init(_ login: DatabaseLogin, lacks roles: [DatabaseRole], _ context: DashboardContext) {
    let (message, advice) = login.refusal(of: "this page", needing: roles)
    self.init(
      status: 403, title: "Not allowed", message: message,
      advice: "\(advice) \(context.otherRights)")
  }

  /// What an error of the modules below means for whoever reads the page. A right that the login lacks is named, with
  /// who can grant it.
  init(_ error: any Error, needing roles: [DatabaseRole], _ context: DashboardContext) async {
    if let failure = error as? PageFailure {
      self = failure
      return
    }
    let server = PostgreSQLError.within(error)
    if server?.lacksRole == true, let login = try? await context.login() {
      self.init(login, lacks: roles, context)
      return
    }
    let (message, advice): (String, String?) =
      (error as? JobQueueError).map { ($0.message, $0.advice) }
      ?? (error as? ReportsError).map { ($0.message, $0.advice) }
      ?? (server.map { "\($0)" } ?? "The page could not be made.", nil)
    let (status, title) = Self.kind(error, server)
    let next =
      status == 503
      ? "Load the page anew in a moment; where that does not help, look at the database with analysisctl doctor."
      : "Go back, and try it once more; where that does not help, look at what analysisctl serve has logged."
    self.init(status: status, title: title, message: message, advice: advice ?? next)
  }

  private static func kind(_ error: any Error, _ server: PostgreSQLError?) -> (Int, String) {
    if server?.isConnectionLoss == true { return (503, "The database is away") }
    switch (error as? JobQueueError)?.code {
    case .permission: return (403, "Not allowed")
    case .notFound: return (404, "Not found")
    case .invalid, .badRow: return (400, "Not understood")
    case .unreachable: return (503, "The database is away")
    case .deadline, .conflict, .cancelled: return (503, "The database takes too long")
    default: break
    }
    if (error as? ReportsError)?.code == .unreachable { return (503, "The database is away") }
    return (500, "The page could not be made")
  }
}

extension PostgreSQLError {
  /// What the server said, of an error of the modules below.
  static func within(_ error: any Error) -> PostgreSQLError? {
    error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
      ?? (error as? ReportsError)?.underlying as? PostgreSQLError
  }
}
