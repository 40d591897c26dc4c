import JobQueue
import Markup
import PostgreSQL
import Reports

/// Why there is no page: what happened, and what to do about it.
struct PageFailure: Error {
  var status: Int
  var title: String
  var message: String
  var advice: String?

  /// Nothing is there by that name or number.
  static func missing(_ message: String) -> PageFailure {
    PageFailure(status: 404, title: "Not found", message: message)
  }

  /// The address or the form cannot be understood.
  static func invalid(_ message: String) -> PageFailure {
    PageFailure(status: 400, title: "Not understood", message: message)
  }

  /// The page that says so.
  var page: Page {
    Page(
      title: title,
      content: """
        <p class="notice bad">\(message)</p>
        \(advice.map { advice in "<p>\(advice)</p>" as HTML })
        """, status: status)
  }
}

extension PageFailure {
  /// A login may not read a page for which it needs any of some roles.
  init(_ login: DatabaseLogin, lacks roles: [DatabaseRole]) {
    let (message, advice) = login.refusal(of: "this page", needing: roles)
    self.init(
      status: 403, title: "Not allowed", message: message,
      advice: advice + " Or start another dashboard as a login that has it.")
  }

  /// What an error of the modules below means for whoever reads the page. A right that the login lacks is named, with
  /// who can grant it.
  init(_ error: any Error, needing roles: [DatabaseRole], _ context: DashboardContext) async {
    if let failure = error as? PageFailure {
      self = failure
      return
    }
    let server =
      error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
      ?? (error as? ReportsError)?.underlying as? PostgreSQLError
    if server?.lacksRole == true, let login = try? await DatabaseLogin.read(context.database) {
      self.init(login, lacks: roles)
      return
    }
    let (message, advice) =
      (error as? JobQueueError).map { ($0.message, $0.advice) }
      ?? (error as? ReportsError).map { ($0.message, $0.advice) }
      ?? (server.map { "\($0)" } ?? "The page could not be made.", nil)
    let (status, title) = Self.kind(error, server)
    self.init(status: status, title: title, message: message, advice: advice)
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
