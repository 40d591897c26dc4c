import CommandLineTool
import Support

/// `analysisctl share request`.
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
      try session.view.show(
        ShareRequestResponse(id: id, user: user, reader: reader, expiresAt: expiresAt))
      return .done
    }
  }
}

/// A share that was requested.
struct ShareRequestResponse: Sendable, Equatable, Presentable {
  let id: ShareID
  let user: String
  let reader: Share.Reader
  /// Seconds since 1970; nil for never.
  let expiresAt: Double?

  var json: JSONValue {
    [
      "share": .string(id.description), "user": .string(user), "clinician": .text(reader.clinician),
      "carer": .text(reader.carer), "expires_at": .time(expiresAt),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let how =
      reader.clinician == nil
      ? "The carer accepts it through the gateway."
      : "The clinician accepts it: analysisctl share accept \(id)"
    return """
      requested share \(id) of \(printable(user)) with \(printable(reader.shown))
      \(how)

      """
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
