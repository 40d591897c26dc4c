import CommandLineTool
import FoundationEssentials
import Support

/// `analysisctl webhooks replay`.
enum WebhooksReplayCommand {
  static let since = Option<Date?>("since", .time, help: "The events of jobs that ended from this time on.")
  static let event = Option<WebhookEventID?>("event", .webhookEventID, help: "One event: evt_0_17.")
  static let failed = Flag("failed", help: "Those that it has never taken.")

  static let command = ControlCommand(
    "replay", abstract: "Send a webhook events again, and switch it on if it is off.",
    discussion: """
      They have the same numbers as before, by which a receiver knows those that it has had. Events are kept for a \
      week after they were taken, and for 30 days after the job ended otherwise. While a webhook is off no events are \
      made for it: it does not receive the jobs that ended then.
      """,
    examples: [
      Example("analysisctl webhooks replay W3 --failed", "After its receiver was mended."),
      Example("analysisctl webhooks replay W3 --since 2026-12-01T08:00:00Z", "All of that morning."),
      Example("analysisctl webhooks replay W3 --event evt_0_17", "One."),
    ],
    inputs: [since, event, failed, ReasonOption.reason, WebhooksCommand.webhook],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission], feature: .webhooks
  ) { context in
    let which: WebhookDirectory.Replay
    switch (try context[since], try context[event], try context[failed]) {
    case (let since?, nil, false): which = .since(since.timeIntervalSince1970)
    case (nil, let event?, false): which = .event(event)
    case (nil, nil, true): which = .failed
    default: throw CommandFailure.usage("give one of --since, --event and --failed")
    }
    let webhook = try context[WebhooksCommand.webhook]
    return try await context.withSession { session in
      try await session.require(.webhooks, of: webhook)
      let count = try await WebhookDirectory(session.database).replay(webhook, which, by: session.actor)
      try session.view.show(WebhooksReplayResponse(webhook: webhook, events: count))
      return .done
    }
  }
}

/// What is sent again.
struct WebhooksReplayResponse: Sendable, Equatable, Presentable {
  let webhook: WebhookID
  let events: Int

  var json: JSONValue { ["webhook": .string(webhook.description), "events": .count(events)] }

  func text(width: Int?, paint: Paint) -> String {
    "\(events) events are sent to \(webhook) again; it is on\n"
  }
}
