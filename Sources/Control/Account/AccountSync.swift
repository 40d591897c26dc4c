import CommandLineTool
import Endpoint
import Support

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
      plan's. A plan and a limit are what bills hang on: before one is changed the command shows it and asks. A \
      script gives --yes.

      Where nothing differed the exit code is 5.
      """,
    examples: [
      Example(
        "analysisctl account sync --user u1 --worker-config worker.conf --dry-run",
        "What differs."),
      Example("analysisctl account sync --user u1 --worker-config worker.conf", "Take it over."),
      Example(
        "analysisctl account sync --user u1 --yes --worker-config worker.conf", "Take it over, from a script."
      ),
    ],
    inputs: EndpointOptions.all + [user, limit, dryRun, Confirmation.yes, ReasonOption.reason],
    exitCodes: [
      .done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission,
    ]
  ) { context in
    let (user, isDry) = (try context[user], try context[dryRun])
    let setsLimit = try context[limit]
    return try await context.withAccount(user: user) { access in
      let account = try await access.client.profile()
      let status = try await access.client.history().subscription
      var response = AccountSyncResponse(
        user: user, changes: try await access.takeOver(account, status, plan: true, dry: true), isDry: true)
      let plans = PlanDirectory(access.session.database)
      if let status, status.subscription == account.subscription {
        let plan = account.subscription.rawValue
        let here = try await plans.list().first { $0.name == plan }?.current?.monthly
        if here != status.analysisLimit {
          response.limit = .init(plan: plan, here: here, there: status.analysisLimit, isSet: false)
        }
      }
      if !isDry {
        if response.isBilled || setsLimit && response.limit != nil {
          try await Confirmation.require(response.question(setsLimit: setsLimit), access.session)
        }
        response.changes = try await access.takeOver(account, status, plan: true)
        if setsLimit, let limit = response.limit {
          try await plans.setLimit(plan: limit.plan, limit: limit.there, by: access.session.actor)
          response.limit?.isSet = true
        }
        response.isDry = false
      }
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
    var isSet: Bool
  }

  let user: String
  var changes: [UserChange]
  var limit: Limit?
  /// Whether nothing was changed.
  var isDry: Bool

  /// Whether the user would get another plan.
  var isBilled: Bool { changes.contains { $0.field == "plan" } }

  /// What is asked before a plan or a limit is changed.
  func question(setsLimit: Bool) -> String {
    let plan = changes.filter { $0.field == "plan" }.text(of: user, "would be")
    let limit = setsLimit ? limit.map { "\(Self.facts($0)), for every user of the plan\n" } : nil
    return plan + (limit ?? "") + "Change it?"
  }

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

  private static func shown(_ number: Int?) -> String { number.map(String.init) ?? "unlimited" }

  private static func facts(_ limit: Limit) -> String {
    "limit of plan \(limit.plan): \(shown(limit.here)) here, \(shown(limit.there)) at the endpoint"
  }

  private static func text(_ limit: Limit) -> String {
    limit.isSet
      ? "\(facts(limit)); set\n"
      : "\(facts(limit)); analysisctl plans set-limit \(limit.plan) \(shown(limit.there)) changes it for all its users\n"
  }
}
