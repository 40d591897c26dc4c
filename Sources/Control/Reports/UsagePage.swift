import HTTPServing
import Queue
import Support

extension DashboardPage {
  /// What users and clinics have used of the running month.
  static let usage = DashboardPage(
    path: "/usage", section: .usage, roles: [.auditor, .administrator, .reporter]
  ) { request, context in
    let after = request.query["after"]
    let users = try await context.value(
      of: Reading(key: "users \(after ?? "")", statements: 1 + context.shards.count) {
        [database = context.database] in
        try await UserDirectory(database).list(after: after, limit: UsageList.most)
      })
    let appearances = try await appearances(of: users.map(\.reference), context)
    return Page(
      title: "Usage",
      content: """
        \(UsageList(users: users, appearances: appearances, isFirst: after == nil).html)
        \(try await clinics(context))
        """)
  }

  /// Who the users are, for those who may read it: of others the page knows the references alone.
  private static func appearances(
    of users: [String], _ context: DashboardContext
  ) async throws -> [String: UserAppearance] {
    guard try await context.has(PictureFiles.userRoles) else { return [:] }
    return try await context.value(
      of: Reading(key: "appearances \(users)", statements: 1 + context.shards.count) {
        [database = context.database] in
        try await UserDirectory(database).appearances(of: users)
      })
  }

  /// The clinics' sums; nothing for a reporter, who may read users only.
  private static func clinics(_ context: DashboardContext) async throws -> HTML? {
    guard try await context.has([.auditor, .administrator]) else { return nil }
    let usage = try await context.value(
      of: .slow("clinics", statements: 1) { [database = context.database] in
        try await ClinicDirectory(database).usage()
      })
    return "<h2>Clinics</h2>\n\(UsageList.table(of: usage))"
  }
}

/// A page of users, by their references.
struct UsageList {
  static let most = 50

  let users: [UserSummary]
  /// By reference, as far as the login may read it.
  var appearances: [String: UserAppearance] = [:]
  let isFirst: Bool

  var html: HTML {
    var table = DataTable(
      "Each user's running month, by the user's own zone",
      [
        .init("User"), .init("Month"), .init("Plan"), .init("Used", isNumber: true),
        .init("Limit", isNumber: true), .init("Of the limit", isNumber: true),
      ], empty: isFirst ? "There are no users." : "There are no more users.")
    for user in users {
      table.add([
        "\(picture(of: user)) <span>\(user.reference)</span>", "\(user.period.description)",
        "\(user.planName ?? user.plan ?? "none")", "\(user.used)",
        user.limit.map { limit in "\(limit)" } ?? "none", Self.share(user),
      ])
    }
    return "\(table.html)\(paging)"
  }

  private func picture(of user: UserSummary) -> HTML {
    if let appearance = appearances[user.reference] { return .picture(of: appearance) }
    let unknown = UserPicture<Never, Never>(
      photo: nil, kind: nil, logo: nil, pharmacyLogo: nil, name: user.reference)
    switch unknown {
    case .initials(let initials): return .disc(of: initials)
    }
  }

  /// `85 %`, marked where nothing is left.
  private static func share(_ user: UserSummary) -> HTML {
    guard let limit = user.limit else { return "–" }
    guard user.used < limit else { return "<strong class=\"bad\">used up</strong>" }
    return "\(user.used * 100 / limit) %"
  }

  private var paging: HTML {
    let first: HTML = isFirst ? "" : "<a href=\"/usage\">First users</a> "
    let next: HTML =
      users.count == Self.most
      ? .link("/usage", [("after", users.last?.reference)], "Next users") : ""
    return "<p class=\"paging\">\(first)\(next)</p>"
  }

  static func table(of clinics: [ClinicUsage]) -> HTML {
    var table = DataTable(
      """
      What the users of each clinic have used of the running month, by UTC, at most two minutes ago; a clinic has no \
      limit of its own
      """,
      [
        .init("Clinic"), .init("Users", isNumber: true), .init("Used", isNumber: true),
        .init("Refused", isNumber: true),
      ], empty: "There are no clinics.")
    for clinic in clinics {
      let logo: HTML? = clinic.logo.map { logo in "\(HTML.logo(logo)) " }
      table.add(["\(logo)\(clinic.clinic)", "\(clinic.users)", "\(clinic.used)", "\(clinic.refused)"])
    }
    return table.html
  }
}
