import CommandLineTool
import HTTPTransfer
import Images
import Support

/// `analysisctl webhooks add`.
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
      try session.view.show(WebhooksAddResponse(id: id, host: url.host, secret: secret.text))
      return .done
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

/// A webhook that was added.
struct WebhooksAddResponse: Sendable, Equatable, Presentable {
  let id: WebhookID
  let host: String
  let secret: String

  var json: JSONValue {
    ["webhook": .string(id.description), "host": .string(host), "secret": .string(secret)]
  }

  func text(width: Int?, paint: Paint) -> String {
    """
    added webhook \(id) on \(printable(host))
    secret \(secret)
    The secret is shown this once. Give it to the receiver.

    """
  }
}
