import CommandLineTool
import FoundationEssentials
import Support

enum UsersCommand {
  static let user = Argument("user", .string, help: "What you call the user.")

  static let command = ControlCommand(
    "users", abstract: "Add users, look at them, set plan, zone, months and name, and let their apps in.",
    examples: [
      Example("analysisctl users add u1 --plan premium --zone Asia/Jakarta", "Add a user."),
      Example("analysisctl users show u1", "A user's plan, limit and use."),
      Example("analysisctl users set-plan u1 premium", "Change the plan from now on."),
      Example("analysisctl users set-period u1 --anchor 15", "Months that end on the 15th."),
      Example("analysisctl users import users.csv --dry-run", "See what a table of users would change."),
      Example("analysisctl users import profiles.jsonl", "Take over what the endpoint says."),
      Example("analysisctl users code u1", "Let the user's app log in."),
      Example("analysisctl users token add u1 --expires 90d", "Make a token for a back-end."),
      Example("analysisctl users prefetch-photos", "Have the users' photos at hand."),
    ],
    subcommands: [
      UsersAddCommand.command, UsersShowCommand.command, UsersListCommand.command,
      UsersSetPlanCommand.command, UsersSetZoneCommand.command,
      UsersSetPeriodCommand.command, UsersRenameCommand.command,
      UsersImportCommand.command,
      UsersExportCommand.command, UsersSetPhotoCommand.command, UsersPrefetchPhotosCommand.command,
      UsersCodeCommand.command, UsersTokenCommand.command,
    ])
}

/// A user's plan, zone or photo that was set.
struct UsersSetResponse: Sendable, Equatable, Presentable {
  let user: String
  let name: String
  let value: String
  /// Seconds since 1970; nil for now.
  let from: Double?

  var json: JSONValue {
    .object([
      .init(name: "user", value: .string(user)),
      .init(name: name, value: .string(value)),
      .init(name: "from", value: .time(from)),
    ])
  }

  func text(width: Int?, paint: Paint) -> String {
    let from = self.from.map { " from \(Moment.short($0))" } ?? ""
    return "\(name) of \(printable(user)): \(printable(value))\(from)\n"
  }
}

enum UsersAddCommand {
  static let plan = Option("plan", .string, default: "free", help: "The plan's name; see analysisctl plans.")
  static let zone = Option<String?>(
    "zone", .string,
    help: "The IANA time zone in which the user's months are counted; the installation's unless given.")
  static let anchor = Option<Int?>(
    "anchor", .int(in: UserDirectory.anchors),
    help: "The day of the month on which the user's periods end; calendar months unless given.")
  static let name = Option<String?>("name", .string, help: "The user's name; kept apart from the reference.")
  static let email = Option<String?>("email", .string, help: "The user's e-mail address; kept likewise.")

  static let command = ControlCommand(
    "add", abstract: "Add a user.",
    discussion: "A user who is there already is left as they are, and the exit code is 5.",
    examples: [
      Example("analysisctl users add u1 --plan free --zone Asia/Jakarta", "Add a user."),
      Example("analysisctl users add u2 --anchor 15", "One whose months end on the 15th."),
    ],
    inputs: [plan, zone, anchor, name, email, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in
    let user = NewUser(
      reference: try context[UsersCommand.user], plan: try context[plan],
      zone: try context[zone], anchor: try context[anchor], name: try context[name], email: try context[email]
    )
    return try await context.withSession { session in
      let added = try await UserDirectory(session.database).add(user, by: session.actor)
      let shown = printable(user.reference)
      return try session.show(
        [
          "user": .string(user.reference), "id": .string(String(added.userID)),
          "shard": .count(added.shard), "created": .bool(added.isNew),
        ],
        added.isNew
          ? "added user \(shown)\n"
          : "user \(shown) is there already and was left unchanged; see analysisctl users set-plan, set-zone and "
            + "set-period\n",
        added.isNew ? .done : .nothingToDo)
    }
  }
}

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

  private static let columns: [ListColumn<UserSummary>] = [
    .init("USER", wraps: true) { Cell($0.reference) }.json("user") { .string($0.reference) },
    .init("PLAN", shrinks: true) { Cell($0.planName ?? $0.plan ?? "") }
      .json("plan") { .text($0.plan) }
      .json("plan_name") { .text($0.planName) },
    .init("ZONE", shrinks: true) { Cell($0.zone) }.json("zone") { .string($0.zone) },
    .init("MONTH") { Cell($0.period.description) }.json("month") { .month($0.period) },
    .init("USED", alignment: .right) { Cell($0.used, $0.used >= $0.limit ?? .max ? .red : nil) }
      .json("limit") { .count($0.limit) }
      .json("used") { .count($0.used) },
    .init("LIMIT", alignment: .right) { Cell($0.limit.map(String.init) ?? "unlimited") },
  ]

  var json: JSONValue { ["users": users.json(Self.columns), "next": .text(next)] }

  func text(width: Int?, paint: Paint) -> String {
    guard !users.isEmpty else { return "No users.\n" }
    return users.table(Self.columns).render(width: width, paint: paint)
  }
}

enum UsersRenameCommand {
  static let name = Argument("new-name", .string, help: "What you call the user from now on.")

  static let command = ControlCommand(
    "rename", abstract: "Call a user by another name; all that is theirs stays.",
    discussion: """
      The user keeps the number, jobs, results, images, use and plan. Statements of closed months keep the name with \
      which they were closed, byte for byte. The audit knows users by their numbers, and so finds what was done \
      before under the new name too.

      The old name is refused from then on wherever a user is named, and no other user gets it until the person is \
      erased: a back-end that still submits under it gets the answer that there is no such user. The same user may be given \
      it again. Only a hash of it is kept.
      """,
    examples: [
      Example("analysisctl users rename u1 patient-1", "Ask, and rename."),
      Example("analysisctl users rename u1 patient-1 --yes --reason request-114", "From a script."),
    ],
    inputs: [Confirmation.yes, ReasonOption.reason, UsersCommand.user, name],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, name) = (try context[UsersCommand.user], try context[name])
    guard user != name else { throw CommandFailure.usage("the new name is the old one") }
    if try !context[Confirmation.yes] { try Confirmation.requireTerminal(context) }
    return try await context.withSession { session in
      try await Confirmation.require(
        "Back-ends that submit for \(printable(user)) have to name \(printable(name)) from now on. Rename?",
        session)
      let number = try await UserDirectory(session.database).rename(user, to: name, by: session.actor)
      return try session.show(UsersRenameResponse(was: user, name: name, number: number))
    }
  }
}

/// A user who was renamed.
struct UsersRenameResponse: Sendable, Equatable, Presentable {
  let was: String
  let name: String
  let number: Int64

  var json: JSONValue {
    ["user": .string(name), "was": .string(was), "number": .string(String(number))]
  }

  func text(width: Int?, paint: Paint) -> String {
    "user \(printable(was)) is called \(printable(name)) now\n"
  }
}

enum UsersSetPlanCommand {
  static let plan = Argument("plan", .string, help: "The plan's name; see analysisctl plans.")
  static let from = Option<Date?>("from", .time, help: "From when it holds; from now on unless given.")

  static let command = ControlCommand(
    "set-plan", abstract: "Give a user a plan.",
    discussion:
      "The plan that holds when a job may run decides its limit; what is used already stays used.",
    examples: [
      Example("analysisctl users set-plan u1 premium", "From now on."),
      Example("analysisctl users set-plan u1 free --from 2026-12-01T00:00:00+07:00", "From a moment on."),
    ],
    inputs: [from, ReasonOption.reason, UsersCommand.user, plan],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, plan) = (try context[UsersCommand.user], try context[plan])
    let from = try context[from]?.timeIntervalSince1970
    return try await context.withSession { session in
      try await UserDirectory(session.database).setPlan(user, plan: plan, from: from, by: session.actor)
      return try session.show(UsersSetResponse(user: user, name: "plan", value: plan, from: from))
    }
  }
}

enum UsersSetZoneCommand {
  static let zone = Argument("zone", .string, help: "An IANA time zone, for instance Asia/Jakarta.")

  static let command = ControlCommand(
    "set-zone", abstract: "Set the time zone in which a user's months are counted.",
    discussion: "Jobs that are submitted keep the month in which they count.",
    examples: [
      Example("analysisctl users set-zone u1 Europe/Berlin", "For what is submitted from now on.")
    ],
    inputs: [ReasonOption.reason, UsersCommand.user, zone],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, zone) = (try context[UsersCommand.user], try context[zone])
    return try await context.withSession { session in
      try await UserDirectory(session.database).setZone(user, zone: zone, by: session.actor)
      return try session.show(UsersSetResponse(user: user, name: "zone", value: zone, from: nil))
    }
  }
}
