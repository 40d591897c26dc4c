import CommandLineTool
import Support

/// `analysisctl webhooks list`.
enum WebhooksListCommand {
  static let command = ControlCommand(
    "list", abstract: "List the webhooks, and how they do.",
    discussion: """
      WAITING is how many events are still to be sent. Times are in UTC. A webhook that is off receives nothing \
      until analysisctl webhooks replay switches it on.
      """,
    examples: [
      Example("analysisctl webhooks list", "All that this login may see."),
      Example("analysisctl webhooks list --json", "For a program."),
    ],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission], feature: .webhooks
  ) { context in
    try await context.withSession { session in
      try session.view.show(
        WebhooksListResponse(webhooks: try await WebhookDirectory(session.database).list()))
      return .done
    }
  }
}

/// The webhooks.
struct WebhooksListResponse: Sendable, Equatable, Presentable {
  let webhooks: [Webhook]

  var json: JSONValue { ["webhooks": .array(webhooks.map(\.json))] }

  func text(width: Int?, paint: Paint) -> String {
    guard !webhooks.isEmpty else { return "No webhooks.\n" }
    var table = Table([
      .init("WEBHOOK"), .init("JOBS OF", shrinks: true), .init("HOST", shrinks: true), .init("STATE"),
      .init("LAST TAKEN"), .init("WAITING", alignment: .right),
    ])
    for webhook in webhooks {
      table.add([
        Cell(webhook.id.description), Cell(webhook.owner.shown + (webhook.hasFindings ? " +findings" : "")),
        Cell(webhook.host), Cell(webhook.state, webhook.state == "on" ? nil : .red),
        Cell(webhook.lastSuccessAt.map { Moment.short($0) } ?? "never"),
        Cell(webhook.waiting > 10_000 ? ">10000" : String(webhook.waiting)),
      ])
    }
    let failures = webhooks.compactMap { webhook -> String? in
      guard webhook.state != "on", let failure = webhook.lastFailure else { return nil }
      return "\(webhook.id), \(Moment.short(webhook.lastFailureAt)): \(printable(failure))\n"
    }
    return table.render(width: width, paint: paint) + (failures.isEmpty ? "" : "\n" + failures.joined())
  }
}

extension Webhook.Owner {
  /// `clinic north` or `user u1`.
  var shown: String {
    switch self {
    case .clinic(let name): "clinic \(name)"
    case .user(let name): "user \(name)"
    }
  }
}

extension Webhook {
  /// `on`, `failing` or `off`.
  var state: String { offAt != nil ? "off" : failures > 0 ? "failing" : "on" }

  var json: JSONValue {
    let (clinic, user): (String?, String?) =
      switch owner {
      case .clinic(let name): (name, nil)
      case .user(let name): (nil, name)
      }
    return [
      "webhook": .string(id.description), "clinic": .text(clinic), "user": .text(user),
      "host": .string(host), "findings": .bool(hasFindings), "state": .string(state),
      "added_at": .text(Moment.exact(createdAt)),
      "last_success_at": .text(lastSuccessAt.flatMap(Moment.exact)),
      "last_failure_at": .text(lastFailureAt.flatMap(Moment.exact)), "last_failure": .text(lastFailure),
      "off_at": .text(offAt.flatMap(Moment.exact)), "off_reason": .text(offReason),
      "waiting": .count(waiting),
    ]
  }
}
