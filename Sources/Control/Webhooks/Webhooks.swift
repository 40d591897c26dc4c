import CommandLineTool
import EventLoop
import FoundationEssentials
import HTTPTransfer
import Images
import Support

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
      Example("analysisctl webhooks list", "Which there are, and their states."),
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

enum WebhooksAddCommand {
  static let url = Argument(
    "url", .string,
    help:
      "The address: https://clinic.example.org/ended; or - to read it from standard input, where other users of "
      + "this machine cannot see it.")
  static let clinic = Option<String?>("clinic", .string, help: "Tell it of the jobs of this clinic's users.")
  static let user = Option<String?>("user", .string, help: "Tell it of the jobs of this user.")
  static let findings = Flag(
    "with-findings",
    help: "Tell it what was found, too. The login needs the right to see results: analysis_clinician.")
  static let plainHTTP = Flag(
    "allow-plain-http", help: "Let the address be http: whoever is on the way reads what is sent.")

  static let command = ControlCommand(
    "add", abstract: "Add a webhook, and print its secret.",
    discussion: """
      The secret is printed once: the receiver checks the signatures by it. The database has it encrypted under the \
      current key of the key file, without which no webhook is added. It receives the jobs that end from now on. \
      All of the address may be a secret: of it only the host is shown afterwards.
      """,
    examples: [
      Example(
        "analysisctl webhooks add https://example.org/ended --clinic north",
        "All users of a clinic; the key file is named in the configuration."),
      Example(
        "analysisctl webhooks add https://example.org/u1 --user u1 --with-findings",
        "One user, with what was found."),
      Example("analysisctl webhooks add - --user u1 < address.txt", "One whose address holds a secret."),
    ],
    inputs: [clinic, user, findings, plainHTTP, KeyFileOption.path, ReasonOption.reason, url],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission],
    feature: .webhooks
  ) { context in
    let owner: Webhook.Owner
    switch (try context[clinic], try context[user]) {
    case (let name?, nil): owner = .clinic(name)
    case (nil, let name?): owner = .user(name)
    default: throw CommandFailure.usage("give either --clinic or --user")
    }
    let given = try context[url]
    let url = try address(
      given == "-" ? try await context.dependencies.address() : given, allowsPlainHTTP: try context[plainHTTP]
    )
    let keys = try await KeyFileOption.readRequired(context)
    return try await context.withSession { session in
      try await session.require(.webhooks, of: owner)
      let secret = try WebhookSecret()
      let id = try await WebhookDirectory(session.database).add(
        url.url, of: owner, secret: try secret.encrypted(for: url.url, keys: keys),
        hasFindings: try context[findings], allowsPlainHTTP: try context[plainHTTP], by: session.actor)
      return try session.show(
        ["webhook": .string(id.description), "host": .string(url.host), "secret": .string(secret.text)],
        """
        added webhook \(id) on \(printable(url.host))
        secret \(secret.text)
        The secret is shown this once. Give it to the receiver.

        """)
    }
  }

  private static let example = "An address is like https://clinic.example.org/ended."

  /// The address as a worker will use it. A message names no part of it.
  private static func address(_ text: String, allowsPlainHTTP: Bool) throws -> URLParts {
    guard !text.isEmpty else {
      throw CommandFailure.usage("there is no address, and nothing came on standard input", advice: example)
    }
    guard text.unicodeScalars.allSatisfy({ ("!"..."~").contains($0) }) else {
      throw CommandFailure.usage(
        "the address has a space or a character that is not ASCII",
        advice: "Write each byte of such a character as %C3.")
    }
    // Servers take /../ for a folder above.
    guard !text.contains(/\/(\.|%2[eE]){1,2}(\/|\?|$)/) else {
      throw CommandFailure.usage(
        "the address has a part of dots in its path, which is never sent", advice: "Leave it out.")
    }
    // The parser would change such an address, and the events would go to another receiver.
    guard text.contains(/^[A-Za-z]+:\/\/[^\/\\?]/) else {
      throw CommandFailure.usage("the address does not begin with https:// and a host", advice: example)
    }
    guard !text.contains("#") else {
      throw CommandFailure.usage(
        "the address has a fragment, from its # on, which is never sent", advice: "Leave it out.")
    }
    guard let parts = URLParts(text), !parts.hasCredentials else {
      throw CommandFailure.usage(
        "the address cannot be read, or has an account in it", advice: example)
    }
    guard parts.scheme == "https" || parts.scheme == "http" && allowsPlainHTTP else {
      throw CommandFailure.usage(
        "the address on \(printable(parts.host)) is not https", advice: "--allow-plain-http allows http.")
    }
    return parts
  }
}

enum WebhooksListCommand {
  static let command = ControlCommand(
    "list", abstract: "List the webhooks and their states.",
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
      return try session.show(
        WebhooksListResponse(webhooks: try await WebhookDirectory(session.database).list()))
    }
  }
}

struct WebhooksListResponse: Sendable, Equatable, Presentable {
  let webhooks: [Webhook]

  private static let columns: [ListColumn<Webhook>] = [
    .init("WEBHOOK") { Cell($0.id.description) }.json("webhook") { .string($0.id.description) },
    .init("JOBS OF", shrinks: true) { Cell($0.owner.shown + ($0.hasFindings ? " +findings" : "")) }
      .json("clinic") { .text($0.owner.clinic) }
      .json("user") { .text($0.owner.user) },
    .init("HOST", shrinks: true) { Cell($0.host) }.json("host") { .string($0.host) },
    .init(json: "findings") { .bool($0.hasFindings) },
    .init("STATE") { Cell($0.state, $0.state == "on" ? nil : .red) }.json("state") { .string($0.state) },
    .init(json: "added_at") { .time($0.createdAt) },
    .init("LAST TAKEN") { Cell($0.lastSuccessAt.map { Moment.short($0) } ?? "never") }
      .json("last_success_at") { .time($0.lastSuccessAt) },
    .init(json: "last_failure_at") { .time($0.lastFailureAt) },
    .init(json: "last_failure") { .text($0.lastFailure) },
    .init(json: "off_at") { .time($0.offAt) },
    .init(json: "off_reason") { .text($0.offReason) },
    .init("WAITING", alignment: .right) { Cell($0.waiting > 10_000 ? ">10000" : String($0.waiting)) }
      .json("waiting") { .count($0.waiting) },
  ]

  var json: JSONValue { ["webhooks": webhooks.json(Self.columns)] }

  func text(width: Int?, paint: Paint) -> String {
    guard !webhooks.isEmpty else { return "No webhooks.\n" }
    let failures = webhooks.compactMap { webhook -> String? in
      guard webhook.state != "on", let failure = webhook.lastFailure else { return nil }
      return "\(webhook.id), \(Moment.short(webhook.lastFailureAt)): \(printable(failure))\n"
    }
    return webhooks.table(Self.columns).render(width: width, paint: paint)
      + (failures.isEmpty ? "" : "\n" + failures.joined())
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

  /// The clinic's name, if it is one.
  var clinic: String? { if case .clinic(let name) = self { name } else { nil } }

  /// The user's, if it is one.
  var user: String? { if case .user(let name) = self { name } else { nil } }
}

extension Webhook {
  /// `on`, `failing` or `off`.
  var state: String { offAt != nil ? "off" : failures > 0 ? "failing" : "on" }
}

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
      return try session.show(["removed": .string(webhook.description)], "removed webhook \(webhook)\n")
    }
  }
}

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
      return try session.show(
        ["webhook": .string(webhook.description), "events": .count(count)],
        "\(count) events are sent to \(webhook) again; it is on\n")
    }
  }
}

enum WebhooksTestCommand {
  static let timeout = Option(
    "timeout", .duration(in: .zero...(.seconds(600))), default: .seconds(30),
    help: "How long to wait for a worker to send it; then exit 75.")

  static let command = ControlCommand(
    "test", abstract: "Have a worker send a test event to a webhook, and show the result.",
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
