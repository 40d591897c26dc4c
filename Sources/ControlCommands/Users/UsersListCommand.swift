import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import PostgreSQL

/// `analysisctl users list`.
enum UsersListCommand {
  static let limit = Option("limit", .int(in: 1...10_000), default: 100, help: "How many at most.")
  static let after = Option<String?>("after", .string, help: "Go on behind this user.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "list", abstract: "List users by name, with their use of the running month.",
      examples: [
        Example("analysisctl users list", "The first users."),
        Example("analysisctl users list --after u100 --limit 1000", "The following ones."),
      ],
      inputs: [limit, after], exitCodes: [.done, .usage, .unreachable, .tryLater]
    ) { context in
      let (after, limit) = (try context.values[after], try context.values[limit])
      return try await context.withSession(dependencies) { session in
        let users = try await UserDirectory(session.database).list(after: after, limit: limit)
        let response = UsersListResponse(users: users, isFull: users.count == limit)
        try session.view.show(response, by: UsersListPresenter.self)
        if let next = response.next, !session.view.isJSON {
          session.console.say("There may be more: --after \(printable(next))")
        }
        return .done
      }
    }
  }
}

/// A page of users.
struct UsersListResponse: Sendable, Equatable {
  let users: [UserSummary]
  /// Whether the page is full, so that another may follow.
  let isFull: Bool

  /// Behind whom the next page begins.
  var next: String? { isFull ? users.last?.reference : nil }
}

/// Shows a page of users.
enum UsersListPresenter: Presenter {
  static func json(_ response: UsersListResponse) -> JSONValue {
    ["users": .array(response.users.map(json(of:))), "next": .text(response.next)]
  }

  private static func json(of user: UserSummary) -> JSONValue {
    [
      "user": .string(user.reference), "plan": .text(user.plan), "zone": .string(user.zone),
      "month": .month(user.period), "limit": .count(user.limit), "used": .count(user.used),
    ]
  }

  static func text(_ response: UsersListResponse, width: Int?, paint: Paint) -> String {
    guard !response.users.isEmpty else { return "No users.\n" }
    var table = Table([
      .init("USER", shrinks: true), .init("PLAN"), .init("ZONE"), .init("MONTH"),
      .init("USED", alignment: .right), .init("LIMIT", alignment: .right),
    ])
    for user in response.users {
      let isFull = user.limit.map { user.used >= $0 } ?? false
      table.add([
        Cell(user.reference), Cell(user.plan ?? ""), Cell(user.zone), Cell(user.period.description),
        Cell(user.used, isFull ? .red : nil), Cell(user.limit.map(String.init) ?? "unlimited"),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
