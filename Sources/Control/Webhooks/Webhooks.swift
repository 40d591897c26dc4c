import CommandLineTool

/// `analysisctl webhooks`.
enum WebhooksCommand {
  static let webhook = Argument(
    "webhook", .webhookID, help: "The webhook's number, with its W or without: W3.")

  static let command = ControlCommand(
    "webhooks", abstract: "Send a message to an address when an analysis of a clinic or user has ended.",
    discussion: """
      Workers that have the key file send it: a POST for each job that has ended, signed as Standard Webhooks \
      (standardwebhooks.com) has it, with the job's number, state and time, and with what was found only where that \
      was allowed. Each event comes at least once; what is not taken is tried for three days.
      """,
    examples: [
      Example(
        "analysisctl webhooks add https://example.org/ended --clinic north",
        "Add one, and print its secret."),
      Example("analysisctl webhooks list", "Which there are, and how they do."),
      Example("analysisctl webhooks test W3", "Send it a test event."),
      Example(
        "analysisctl webhooks replay W3 --failed", "Switch it on again, and send what it has not taken."),
    ],
    subcommands: [
      WebhooksAddCommand.command, WebhooksListCommand.command, WebhooksTestCommand.command,
      WebhooksReplayCommand.command, WebhooksRemoveCommand.command,
    ])
}

extension ValueFormat where Value == WebhookID {
  /// `W3` or `3`.
  static var webhookID: Self {
    ValueFormat(
      name: "WEBHOOK",
      read: { WebhookID($0) },
      else: "is not a webhook's number, such as W3",
      text: \.description)
  }
}

extension ValueFormat where Value == WebhookEventID {
  /// `evt_0_17`.
  static var webhookEventID: Self {
    ValueFormat(
      name: "EVENT",
      read: { WebhookEventID($0) },
      else: "is not an event's number, such as evt_0_17",
      text: \.description)
  }
}
