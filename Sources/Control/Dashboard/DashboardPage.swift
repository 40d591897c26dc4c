import HTTPServing
import Queue
import Support

/// A page: where it is, what it belongs to, and what makes it.
struct DashboardPage: Sendable {
  /// The path; a `*` stands for any one part of it.
  let path: String
  let section: Section
  /// The roles of which any may read it, the one first that is meant for it: said to a login that may not.
  let roles: [DatabaseRole]
  let render: @Sendable (HTTPRequest, DashboardContext) async throws -> Page

  /// Every page, in the order of the menu.
  static let all: [DashboardPage] = [
    overview, JobsPage.page, JobPage.page, FailuresPage.page, BatchesPage.page, BatchPage.page, workers,
    usage, reviews, audit,
    auditVerification,
  ]
}

/// What stands on a page between the menu and the foot.
struct Page: Sendable {
  var title: String
  var content: HTML
  /// Whether the parts of it that are marked so (`HTML.live`) are brought up to date while it is open.
  var isLive = false
  var status = 200
}
