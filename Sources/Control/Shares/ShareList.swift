import CommandLineTool
import Support

/// `analysisctl share list`.
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

  var json: JSONValue {
    ["shares": .array(shares.map(\.json)), "next": .text(next?.description)]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !shares.isEmpty else { return "No shares.\n" }
    var table = Table([
      .init("SHARE"), .init("USER", shrinks: true), .init("WITH", shrinks: true), .init("STATE"),
      .init("REQUESTED"), .init("EXPIRES"),
    ])
    for share in shares {
      table.add([
        Cell(share.id.description), Cell(share.owner), Cell(share.reader.shown),
        Cell(share.state, ["active", "requested"].contains(share.state) ? nil : .red),
        Cell(String(Moment.short(share.requestedAt).prefix(10))),
        Cell(share.expiresAt.map { Moment.short($0) } ?? "never"),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}

extension Share {
  fileprivate var json: JSONValue {
    [
      "share": .string(id.description), "user": .string(owner), "clinician": .text(reader.clinician),
      "carer": .text(reader.carer), "state": .string(state), "requested_at": .time(requestedAt),
      "accepted_at": .time(acceptedAt), "expires_at": .time(expiresAt), "revoked_at": .time(revokedAt),
    ]
  }
}
