import CommandLineTool
import Support

/// `analysisctl webhooks remove`.
enum WebhooksRemoveCommand {
  static let command = ControlCommand(
    "remove", abstract: "Remove a webhook, with its secret and the events that were not sent.",
    discussion: "What a worker is sending at this moment may still arrive.",
    examples: [Example("analysisctl webhooks remove W3", "It receives nothing any more.")],
    inputs: [Confirmation.yes, ReasonOption.reason, WebhooksCommand.webhook],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission], feature: .webhooks
  ) { context in
    let webhook = try context[WebhooksCommand.webhook]
    return try await context.withSession { session in
      let directory = WebhookDirectory(session.database)
      try await session.require(.webhooks, of: webhook)
      // The database refuses a number that is none, and who may not.
      if let found = try await directory.list().first(where: { $0.id == webhook }) {
        try await Confirmation.require(
          """
          Webhook \(webhook) on \(printable(found.host)), of \(printable(found.owner.shown)), goes with its \
          secret and \(found.waiting) events that were not sent.
          Remove it?
          """, session)
      }
      try await directory.remove(webhook, by: session.actor)
      try session.view.show(WebhooksRemoveResponse(webhook: webhook))
      return .done
    }
  }
}

/// A webhook that was removed.
struct WebhooksRemoveResponse: Sendable, Equatable, Presentable {
  let webhook: WebhookID

  var json: JSONValue { ["removed": .string(webhook.description)] }

  func text(width: Int?, paint: Paint) -> String { "removed webhook \(webhook)\n" }
}
