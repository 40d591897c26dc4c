import CommandLineTool
import EventLoop
import Support

/// `analysisctl webhooks test`.
enum WebhooksTestCommand {
  static let timeout = Option(
    "timeout", .duration(in: .zero...(.seconds(600))), default: .seconds(30),
    help: "How long to wait for a worker to send it; then exit 75.")

  static let command = ControlCommand(
    "test", abstract: "Have a worker send a webhook a test event, and say what came of it.",
    discussion: """
      The event goes the way of all others: a worker with the key file takes it within a second or two, sends and \
      signs it. Exit code 1 when the receiver did not take it; it is tried again like any other.
      """,
    examples: [Example("analysisctl webhooks test W3", "Whether it is reached from where the workers are.")],
    inputs: [timeout, ReasonOption.reason, WebhooksCommand.webhook],
    exitCodes: [.done, .jobFailed, .refused, .usage, .unreachable, .tryLater, .permission], feature: .webhooks
  ) { context in
    let (webhook, timeout) = (try context[WebhooksCommand.webhook], try context[timeout])
    return try await context.withSession { session in
      let directory = WebhookDirectory(session.database)
      try await session.require(.webhooks, of: webhook)
      let event = try await directory.test(webhook, by: session.actor)
      let end = EventLoop.now + timeout
      var state = try await directory.state(of: event)
      while let seen = state, !seen.isOver, seen.failure == nil, EventLoop.now < end {
        try await session.loop.sleep(for: interval)
        state = try await directory.state(of: event)
      }
      try session.view.show(WebhooksTestResponse(webhook: webhook, event: event, state: state))
      guard let state, state.isOver || state.failure != nil else { return .tryLater }
      return state.isDelivered ? .done : .jobFailed
    }
  }

  private static let interval: Duration = .milliseconds(200)
}

/// What came of a test.
struct WebhooksTestResponse: Sendable, Equatable, Presentable {
  let webhook: WebhookID
  let event: WebhookEventID
  /// Nil when the event is gone.
  let state: WebhookEventState?

  var json: JSONValue {
    [
      "webhook": .string(webhook.description), "event": .string(event.description),
      "delivered": .bool(state?.isDelivered ?? false), "failure": .text(state?.failure),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard let state else { return "\(webhook) was removed meanwhile\n" }
    if state.isDelivered { return "\(webhook) has taken the test event \(event)\n" }
    guard let failure = state.failure else {
      return """
        no worker has sent the test event \(event) yet
        Is there a worker with --key-file? analysisctl doctor tells more.

        """
    }
    return "\(webhook) has not taken the test event \(event): \(printable(failure))\n"
  }
}
