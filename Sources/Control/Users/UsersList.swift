import CommandLineTool
import Support

/// `analysisctl users list`.
enum UsersListCommand {
  static let limit = Option("limit", .int(in: 1...10_000), default: 100, help: "How many at most.")
  static let after = Option<String?>("after", .string, help: "Go on behind this user.")

  static let command = ControlCommand(
    "list", abstract: "List users by name, with their use of the running month.",
    examples: [
      Example("analysisctl users list", "The first users."),
      Example("analysisctl users list --after u100 --limit 1000", "The following ones."),
    ],
    inputs: [limit, after], exitCodes: [.done, .usage, .unreachable, .tryLater]
  ) { context in
    let (after, limit) = (try context[after], try context[limit])
    return try await context.withSession { session in
      let users = try await UserDirectory(session.database).list(after: after, limit: limit)
      let response = UsersListResponse(users: users, isFull: users.count == limit)
      try session.view.show(response)
      if let next = response.next {
        session.view.sayUnlessJSON("There may be more: --after \(printable(next))")
      }
      return .done
    }
  }
}

/// A page of users.
struct UsersListResponse: Sendable, Equatable, Presentable {
  let users: [UserSummary]
  /// Whether the page is full, so that another may follow.
  let isFull: Bool

  /// Behind whom the next page begins.
  var next: String? { isFull ? users.last?.reference : nil }

  var json: JSONValue {
    ["users": .array(users.map(Self.json(of:))), "next": .text(next)]
  }

  private static func json(of user: UserSummary) -> JSONValue {
    [
      "user": .string(user.reference), "plan": .text(user.plan), "zone": .string(user.zone),
      "month": .month(user.period), "limit": .count(user.limit), "used": .count(user.used),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !users.isEmpty else { return "No users.\n" }
    var table = Table([
      .init("USER", wraps: true), .init("PLAN", shrinks: true), .init("ZONE", shrinks: true),
      .init("MONTH"),
      .init("USED", alignment: .right), .init("LIMIT", alignment: .right),
    ])
    for user in users {
      let isFull = user.limit.map { user.used >= $0 } ?? false
      table.add([
        Cell(user.reference), Cell(user.plan ?? ""), Cell(user.zone), Cell(user.period.description),
        Cell(user.used, isFull ? .red : nil), Cell(user.limit.map(String.init) ?? "unlimited"),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
