import CommandLineTool
import Queue
import Support

enum ShareCommand {
  static let share = Argument(
    "share", .shareID, help: "The share's number, with its S or without: S12.")

  static let command = ControlCommand(
    "share", abstract: "Let a clinician or a carer read a user's analyses.",
    discussion: """
      A share is requested for a user, and accepted by whom it is for: a clinician with the own login, by share \
      accept; a carer, who is another user, through the gateway with a token. From then on they read the user's \
      analyses, until the share expires, is revoked, or either person is erased. A clinician who sees all users \
      needs none.
      """,
    examples: [
      Example("analysisctl share request u1 --clinician alice --expires 30d", "Ask alice, for 30 days."),
      Example("analysisctl share request u1 --carer u2", "Ask another user."),
      Example("analysisctl share accept S12", "As alice: read from now on."),
      Example("analysisctl share list --user u1", "Who reads what u1 shares."),
      Example("analysisctl share revoke S12", "End it."),
    ],
    subcommands: [
      ShareRequestCommand.command, ShareAcceptCommand.command, ShareListCommand.command,
      ShareRevokeCommand.command,
    ])
}

extension ValueFormat where Value == ShareID {
  /// `S12` or `12`.
  static var shareID: Self {
    ValueFormat(
      name: "SHARE",
      read: { ShareID($0) },
      else: "is not a share's number, such as S12",
      text: \.description)
  }
}

enum ShareAcceptCommand {
  static let command = ControlCommand(
    "accept", abstract: "Accept a share, as the clinician whom a user asked.",
    discussion: """
      Only the login that was asked can. From then on it reads the user's jobs and analyses (jobs list --user, jobs \
      show, report analyses, the dashboard), also where it is restricted to clinics of which the user is none's. Each \
      reading of an analysis is recorded with the share's number.
      """,
    examples: [Example("analysisctl share accept S12", "Read from now on.")],
    inputs: [ReasonOption.reason, ShareCommand.share],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater], feature: .sharing
  ) { context in
    let id = try context[ShareCommand.share]
    return try await context.withSession { session in
      try await ShareDirectory(session.database).accept(id, by: session.actor)
      return try session.show(["accepted": .string(id.description)], "accepted share \(id)\n")
    }
  }
}

enum ShareListCommand {
  static let user = Option<String?>(
    "user", .string, help: "Only those of this user, who shares or reads as a carer.")
  static let limit = Option("limit", .int(in: 1...1000), default: 100, help: "How many at most.")
  static let after = Option<ShareID?>("after", .shareID, help: "Go on behind this share.")

  static let command = ControlCommand(
    "list", abstract: "List shares: an office those of its users, a clinician the own ones.",
    discussion: """
      STATE is requested (nobody reads by it yet), active, expired, revoked, or gone, where the clinician's login is \
      not there any more.
      """,
    examples: [
      Example("analysisctl share list", "All that this login may see."),
      Example("analysisctl share list --user u1 --json", "Those of a user, for a program."),
    ],
    inputs: [user, limit, after], exitCodes: [.done, .usage, .unreachable, .tryLater], feature: .sharing
  ) { context in
    let (user, after, limit) = (try context[user], try context[after], try context[limit])
    return try await context.withSession { session in
      let shares = try await ShareDirectory(session.database).list(user: user, after: after, limit: limit)
      let response = ShareListResponse(shares: shares, isFull: shares.count == limit)
      try session.view.show(response)
      if let next = response.next { session.view.sayUnlessJSON("There may be more: --after \(next)") }
      return .done
    }
  }
}

/// A page of shares.
struct ShareListResponse: Sendable, Equatable, Presentable {
  let shares: [Share]
  /// Whether the page is full, so that another may follow.
  let isFull: Bool

  /// Behind which the next page begins.
  var next: ShareID? { isFull ? shares.last?.id : nil }

  private static let columns: [ListColumn<Share>] = [
    .init("SHARE") { Cell($0.id.description) }.json("share") { .string($0.id.description) },
    .init("USER", shrinks: true) { Cell($0.owner) }.json("user") { .string($0.owner) },
    .init("WITH", shrinks: true) { Cell($0.reader.shown) }
      .json("clinician") { .text($0.reader.clinician) }
      .json("carer") { .text($0.reader.carer) },
    .init("STATE") { Cell($0.state, ["active", "requested"].contains($0.state) ? nil : .red) }
      .json("state") { .string($0.state) },
    .init("REQUESTED") { Cell(String(Moment.short($0.requestedAt).prefix(10))) }
      .json("requested_at") { .time($0.requestedAt) },
    .init(json: "accepted_at") { .time($0.acceptedAt) },
    .init("EXPIRES") { Cell($0.expiresAt.map { Moment.short($0) } ?? "never") }
      .json("expires_at") { .time($0.expiresAt) },
    .init(json: "revoked_at") { .time($0.revokedAt) },
  ]

  var json: JSONValue { ["shares": shares.json(Self.columns), "next": .text(next?.description)] }

  func text(width: Int?, paint: Paint) -> String {
    guard !shares.isEmpty else { return "No shares.\n" }
    return shares.table(Self.columns).render(width: width, paint: paint)
  }
}

enum ShareRequestCommand {
  static let clinician = Option<String?>(
    "clinician", .string, valueName: "LOGIN", help: "The login of a clinician, who accepts with share accept."
  )
  static let carer = Option<String?>(
    "carer", .string, valueName: "USER", help: "Another user, who accepts through the gateway.")
  static let expires = Option<Expiry?>(
    "expires", .expiry,
    help:
      "When it ends: after a time (30d), with a day (2026-12-31, by UTC) or at a time. Never unless given.")

  static let command = ControlCommand(
    "request", abstract: "Ask a clinician or a carer to read a user's analyses.",
    discussion:
      "Nobody reads anything until the share is accepted. The time until it ends begins with the request.",
    examples: [
      Example("analysisctl share request u1 --clinician alice --expires 30d", "A clinician, for 30 days."),
      Example("analysisctl share request u1 --carer u2", "A carer, until it is revoked."),
    ],
    inputs: [clinician, carer, expires, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater], feature: .sharing
  ) { context in
    let user = try context[UsersCommand.user]
    let reader: Share.Reader
    switch (try context[clinician], try context[carer]) {
    case (let login?, nil): reader = .clinician(login)
    case (nil, let carer?): reader = .carer(carer)
    default: throw CommandFailure.usage("give either --clinician or --carer")
    }
    let expires = try context[expires]
    return try await context.withSession { session in
      try await session.require(.sharing, of: .user(user))
      let expiresAt = try await expires?.moment(session.database)
      let id = try await ShareDirectory(session.database).request(
        of: user, for: reader, expiresAt: expiresAt, by: session.actor)
      return try session.show(
        [
          "share": .string(id.description), "user": .string(user), "clinician": .text(reader.clinician),
          "carer": .text(reader.carer), "expires_at": .time(expiresAt),
        ],
        "requested share \(id) of \(printable(user)) with \(printable(reader.shown))\n"
          + (reader.clinician == nil
            ? "The carer accepts it through the gateway.\n"
            : "The clinician accepts it: analysisctl share accept \(id)\n"))
    }
  }
}

extension Share.Reader {
  /// The clinician's login; nil for a carer.
  var clinician: String? { if case .clinician(let login) = self { login } else { nil } }

  /// The carer; nil for a clinician, and for a user whom the login does not see.
  var carer: String? { if case .carer(let user) = self { user } else { nil } }

  /// `clinician alice` or `carer u2`.
  var shown: String {
    switch self {
    case .clinician(let login): "clinician \(login)"
    case .carer(let user): user.map { "carer \($0)" } ?? "a carer"
    }
  }
}

enum ShareRevokeCommand {
  static let command = ControlCommand(
    "revoke", abstract: "End a share.",
    discussion: """
      An office ends those of its users, a clinician the own ones. What is read from then on is refused. One that has \
      ended stays as it is; who is to read again is asked anew.
      """,
    examples: [Example("analysisctl share revoke S12 --reason treatment-ended", "One.")],
    inputs: [ReasonOption.reason, ShareCommand.share],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater], feature: .sharing
  ) { context in
    let id = try context[ShareCommand.share]
    return try await context.withSession { session in
      try await ShareDirectory(session.database).revoke(id, by: session.actor)
      return try session.show(["revoked": .string(id.description)], "revoked share \(id)\n")
    }
  }
}
