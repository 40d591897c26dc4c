import CommandLineTool
import Endpoint
import Support

/// `analysisctl account sync`.
enum AccountSyncCommand {
  static let user = Option(
    required: "user", .string, help: "The user here whose account it is.")
  static let limit = Flag(
    "set-limit",
    help:
      "Give the plan the endpoint's monthly limit too, where the endpoint says it; it holds for every user of "
      + "the plan.")
  static let dryRun = Flag("dry-run", help: "Say what differs, and change nothing.")

  static let command = ControlCommand(
    "sync", abstract: "Take over what the endpoint says of a user: profile, plan and count.",
    discussion: """
      \(AccountCommand.credentials)

      Name, e-mail address, subscription, count and the date of the last reset are taken over, and the user gets the \
      plan that is called as the subscription is (free or premium). Each thing that differed is printed: what it was, \
      and what it is. A monthly limit that differs is reported, and set with --set-limit only, since it is the \
      plan's.

      Where nothing differed the exit code is 5.
      """,
    examples: [
      Example(
        "analysisctl account sync --user u1 --worker-config worker.conf --dry-run",
        "What differs."),
      Example("analysisctl account sync --user u1 --worker-config worker.conf", "Take it over."),
    ],
    inputs: EndpointOptions.all + [user, limit, dryRun, ReasonOption.reason],
    exitCodes: [
      .done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission,
    ]
  ) { context in
    let (user, isDry) = (try context[user], try context[dryRun])
    let setsLimit = try context[limit]
    return try await context.withAccount(user: user) { access in
      let account = try await access.client.profile()
      let status = try await access.client.history().subscription
      let changes = try await access.takeOver(account, status, dry: isDry)
      let plan = account.subscription.rawValue
      var difference: AccountSyncResponse.Limit?
      if let status, status.subscription == account.subscription {
        let plans = PlanDirectory(access.session.database)
        let here = try await plans.list().first { $0.name == plan }?.current?.monthly
        if here != status.analysisLimit {
          let isSet = setsLimit && !isDry
          if isSet {
            try await plans.setLimit(plan: plan, limit: status.analysisLimit, by: access.session.actor)
          }
          difference = .init(plan: plan, here: here, there: status.analysisLimit, isSet: isSet)
        }
      }
      let response = AccountSyncResponse(user: user, changes: changes, limit: difference, isDry: isDry)
      try access.session.view.show(response)
      return response.exitCode
    }
  }
}

/// What differed between a user here and the account at the endpoint.
struct AccountSyncResponse: Sendable, Equatable, Presentable {
  /// A plan's monthly limit that differs; nil for as many as one likes.
  struct Limit: Sendable, Equatable {
    let plan: String
    let here: Int?
    let there: Int?
    /// Whether the plan has the endpoint's now.
    let isSet: Bool
  }

  let user: String
  let changes: [UserChange]
  let limit: Limit?
  let isDry: Bool

  var exitCode: ExitCode { changes.isEmpty && limit == nil ? .nothingToDo : .done }

  var json: JSONValue {
    [
      "user": .string(user), "dry_run": .bool(isDry), "changes": changes.json,
      "limit": limit.map {
        [
          "plan": .string($0.plan), "here": .count($0.here), "endpoint": .count($0.there),
          "set": .bool($0.isSet),
        ]
      } ?? .null,
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard exitCode == .done else { return "Nothing differs.\n" }
    let text = changes.text(of: user, isDry ? "would be" : "now")
    return text + (limit.map { Self.text($0) } ?? "") + (isDry ? "Nothing was changed.\n" : "")
  }

  private static func text(_ limit: Limit) -> String {
    func shown(_ number: Int?) -> String { number.map(String.init) ?? "unlimited" }
    let facts =
      "limit of plan \(limit.plan): \(shown(limit.here)) here, \(shown(limit.there)) at the endpoint"
    return limit.isSet
      ? "\(facts); set\n"
      : "\(facts); analysisctl plans set-limit \(limit.plan) \(shown(limit.there)) changes it for all its users\n"
  }
}
