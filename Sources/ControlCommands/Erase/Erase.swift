import Administration
import CommandLineTool
import Formatting

/// `analysisctl erase`.
enum EraseCommand {
  static let user = Option<String?>("user", .string, help: "Whom: what you call the user.")
  static let number = Option<Int?>(
    "number", .int(in: 1...Int.max),
    help: "Whom, when they have no other name any more: the number of a receipt or the audit.")
  static let cancel = Flag(
    "cancel-open",
    help: "Cancel their jobs that have not ended; what a worker finds in a running one is dropped.")
  static let dryRun = Flag("dry-run", help: "Say what would be removed, and remove nothing.")
  static let receipt = Option<String?>("receipt", .path, help: "Write the receipt to this file too, as JSON.")

  static let command = ControlCommand(
    "erase", abstract: "Remove everything that is kept of a person.",
    discussion: """
      Images, results, the causes of failures, file names, keys, profile and photo go at once and for good. What \
      stays are counts under a number: where a bill said whose they were it says erased-17, in closed months too. \
      While jobs of theirs are open nothing is done, and the exit code is 75, unless they are to be cancelled.

      The receipt says what went, and where the audit tells of it. It alone still names the person: keep it where \
      such things are kept. Not reached are backups, the server's write-ahead log and files that were written \
      before, as reports and exports are.

      A photo that this machine has in the folder of --url-cache goes too, which needs --key-file, and the receipt \
      says whether it did, was not there or could not be looked for. What other machines have of it, a photo that \
      was replaced and pictures that were submitted by URL stay there, encrypted, until they are a day old and \
      analysisctl purge or a fetch runs there.
      """,
    examples: [
      Example("analysisctl erase --user u1 --dry-run", "See what there is."),
      Example(
        "analysisctl erase --user u1 --receipt u1.json --reason request-114",
        "Erase, and keep the receipt."),
    ],
    inputs: [
      user, number, cancel, dryRun, receipt, ReasonOption.reason, RemoteImageOptions.keptCache,
      KeyFileOption.path,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let person: PersonEraser.Person
    switch (try context[user], try context[number]) {
    case (let user?, nil): person = .reference(user)
    case (nil, let number?): person = .number(Int64(number))
    case (nil, nil): throw CommandFailure.usage("nobody is named", advice: "Name the person with --user.")
    default: throw CommandFailure.usage("a person is named twice", advice: "Give either --user or --number.")
    }
    let request = PersonErasure.Request(
      person: person, isCancelling: try context[cancel], isDry: try context[dryRun],
      receipt: try context[receipt])
    let folder = try context[RemoteImageOptions.keptCache]
    // What is wrong with the file is found before anything is gone.
    let photos = PhotoRemover(
      folder: folder, keys: folder == nil ? nil : try await KeyFileOption.read(context))
    return try await context.withSession { session in
      let response = try await PersonErasure(session: session, photos: photos).run(request)
      try session.view.show(response)
      return response.erasure.open > 0 ? .tryLater : .done
    }
  }
}

/// What an erasure came to: the receipt.
struct EraseResponse: Sendable, Equatable, Presentable {
  let person: PersonEraser.Person
  let isDry: Bool
  let erasure: Erasure
  /// What became of their photo on this machine; nil when they had none, or nothing was removed.
  let cachedPhoto: CachedPhoto?
  /// When, in seconds since 1970.
  let at: Double
  /// The entry of the audit that records it; nil when nothing was removed.
  let entry: AuditMark?

  var json: JSONValue {
    [
      "user": .text(reference), "number": .string(String(erasure.userID)), "at": .time(at),
      "dry_run": .bool(isDry), "open": .count(erasure.open), "cancelled": .count(erasure.cancelled),
      "images": .count(erasure.images),
      "image_bytes": .count(erasure.imageBytes), "results": .count(erasure.results),
      "dead": .count(erasure.dead), "attempts": .count(erasure.attempts), "jobs": .count(erasure.jobs),
      "keys": .count(erasure.keys), "profiles": .count(erasure.profiles),
      "statement_lines": .count(erasure.statementLines), "cached_photo": .text(cachedPhoto?.name),
      "cached_photo_reason": .text(cachedPhoto?.reason), "audit": .text(entry?.description),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let user = reference.map(printable) ?? "number \(erasure.userID)"
    guard erasure.open == 0 else {
      return paint.red("Nothing was removed")
        + ": \(erasure.open) jobs of \(user) have not ended. Try again when they have, or cancel them with "
        + "--cancel-open.\n"
    }
    let facts = Facts([
      ("jobs cancelled", String(erasure.cancelled)),
      ("images", "\(erasure.images) (\(erasure.imageBytes) bytes)"), ("results", String(erasure.results)),
      ("causes of dead jobs", String(erasure.dead)), ("failed attempts", String(erasure.attempts)),
      ("file names and keys", String(erasure.jobs + erasure.keys)), ("profiles", String(erasure.profiles)),
      ("lines of statements", String(erasure.statementLines)),
      ("cached photo", cachedPhoto?.message),
      ("audit", entry?.description),
    ])
    let first =
      isDry
      ? "This would be removed of \(user), and was not:\n"
      : "\(user) is erased. What stays are counts under erased-\(erasure.userID).\n"
    return first + facts.text
  }

  private var reference: String? {
    if case .reference(let reference) = person { reference } else { nil }
  }
}
