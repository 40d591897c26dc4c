import CommandLineTool
import EventLoop
import Foundation
import Images
import Queue
import Support

enum EraseCommand {
  static let person = Argument(optional: "user", .string, help: "Whom: what you call the user.")
  static let user = Option<String?>("user", .string, help: "The same as an option.")
  static let number = Option<Int?>(
    "number", .int(in: 1...Int.max),
    help: "Whom, when they have no other name any more: the number of a receipt or the audit.")
  static let cancel = Flag(
    "cancel-open",
    help: "Cancel their jobs that have not ended; what a worker finds in a running one is dropped.")
  static let dryRun = Flag("dry-run", help: "Say what would be removed, and remove nothing.")
  static let confirm = Option<String?>(
    "confirm", .string,
    help: "Their name or number once more: do it without asking; needed where there is no terminal.")
  static let receipt = Option<String?>("receipt", .path, help: "Write the receipt to this file too, as JSON.")

  static let command = ControlCommand(
    "erase", abstract: "Remove everything that is kept of a person.",
    discussion: """
      Images, results, the causes of failures, file names, keys, profile and photo go at once and for good. What \
      stays are counts under a number: where a bill said whose they were it says erased-17, in closed months too. \
      While jobs of theirs are open nothing is done, and the exit code is 75, unless they are to be cancelled.

      It shows what would go, and wants the name typed. A script gives --confirm with the name.

      The receipt says what went, and where the audit tells of it. It alone still names the person: keep it where \
      such things are kept. Not reached are backups, the server's write-ahead log and files that were written \
      before, as reports and exports are.

      A photo that this machine has in the folder of --url-cache goes too, which needs --key-file, and the receipt \
      says whether it did, was not there or could not be looked for. What other machines have of it, or of a photo \
      before it, and pictures that were submitted by URL stay there, encrypted, until they are a day old and \
      analysisctl purge or a fetch runs there.

      An image in an object store can be read by nobody from then on, since its key is gone. With --image-store its \
      object goes at once; what the store does not remove goes with the next analysisctl purge, and the exit code is 75.
      """,
    examples: [
      Example("analysisctl erase u1 --dry-run", "See what there is."),
      Example(
        "analysisctl erase u1 --receipt u1.json --reason request-114",
        "Erase, and keep the receipt."),
      Example("analysisctl erase u1 --confirm u1", "From a script."),
    ],
    inputs: [
      user, number, cancel, dryRun, confirm, receipt, ReasonOption.reason, RemoteImageOptions.keptCache,
      KeyFileOption.path, SharedOptions.imageStore, person,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let names = [try context[person], try context[user]].compactMap { $0 }.map(PersonEraser.Person.reference)
    let numbers = [try context[number]].compactMap { $0 }.map { PersonEraser.Person.number(Int64($0)) }
    guard let person = (names + numbers).first else {
      throw CommandFailure.usage("nobody is named", advice: "Name the person: analysisctl erase USER.")
    }
    guard names.count + numbers.count == 1 else {
      throw CommandFailure.usage("a person is named twice", advice: "Give either the name or --number.")
    }
    let request = PersonErasure.Request(
      person: person, isCancelling: try context[cancel], isDry: try context[dryRun],
      receipt: try context[receipt])
    if !request.isDry { try checkConfirmation(of: person, context) }
    let folder = try context[RemoteImageOptions.keptCache]
    // What is wrong with the file is found before anything is gone.
    let photos = PhotoRemover(
      folder: folder, keys: folder == nil ? nil : try await KeyFileOption.read(context))
    return try await context.withSession { session in
      try await ImageStoreOption.with(session) { store in
        let erasure = PersonErasure(session: session, photos: photos, store: store)
        var response: EraseResponse
        let isConfirmed = try context[confirm] != nil
        if request.isDry || isConfirmed {
          response = try await erasure.run(request)
        } else {
          response = try await erasure.run(request.rehearsal)
          if response.erasure.open == 0 {
            let warning =
              response.text(width: nil, paint: Paint(false)) + "It cannot be undone: what is gone is gone."
            try await Confirmation.requireName(person.name, warning, session)
            response = try await erasure.run(request)
          }
        }
        try session.view.show(response)
        if let reason = response.objects?.reason {
          session.view.sayUnlessJSON("The person's objects are left, and nobody can read them. \(reason)")
        }
        return response.erasure.open > 0 || response.objects.map { $0.left > 0 } == true ? .tryLater : .done
      }
    }
  }

  /// Refuses a confirmation of somebody else, and a run that could ask nobody.
  private static func checkConfirmation(
    of person: PersonEraser.Person, _ context: ControlContext
  ) throws {
    guard let given = try context[confirm] else {
      return try Confirmation.requireTerminal(context, Confirmation.nameAdvice)
    }
    guard given == person.name else {
      throw CommandFailure.usage(
        "the name after --confirm is not that of the user to be erased", advice: "Nothing was changed.")
    }
  }
}

extension PersonEraser.Person {
  /// By what the person was named on the command line.
  fileprivate var name: String {
    switch self {
    case .reference(let reference): reference
    case .number(let number): String(number)
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
  /// The entry of the audit that records it; nil when nothing was removed, or it is not chained yet.
  let entry: AuditMark?
  /// What went from the image store; nil where nothing of it was there, or nothing was removed.
  var objects: ImageStore.Removal?

  var json: JSONValue {
    let erased: JSONValue = [
      "user": .text(reference), "number": .string(String(erasure.userID)), "at": .time(at),
      "dry_run": .bool(isDry), "open": .count(erasure.open), "cancelled": .count(erasure.cancelled),
      "images": .count(erasure.images),
      "image_bytes": .count(erasure.imageBytes), "results": .count(erasure.results),
      "dead": .count(erasure.dead), "attempts": .count(erasure.attempts), "jobs": .count(erasure.jobs),
      "keys": .count(erasure.keys), "profiles": .count(erasure.profiles),
      "statement_lines": .count(erasure.statementLines), "cached_photo": .text(cachedPhoto?.name),
      "cached_photo_reason": .text(cachedPhoto?.reason), "audit": .text(entry?.description),
    ]
    guard let objects, case .object(let members) = erased else { return erased }
    return .object(
      members + [
        .init(name: "objects_removed", value: .count(objects.removed)),
        .init(name: "objects_left", value: .count(objects.left)),
      ])
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
      ("objects", objects.map { "\($0.removed) removed, \($0.left) left to analysisctl purge" }),
      ("audit", entry?.description ?? (isDry ? nil : "not chained yet, see analysisctl audit list")),
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

/// Erases a person, with their photo on this machine and the receipt.
struct PersonErasure: Sendable {
  let session: ControlSession
  let photos: PhotoRemover
  let store: ImageStore?

  /// Whom to erase, and how.
  struct Request: Sendable {
    let person: PersonEraser.Person
    let isCancelling: Bool
    let isDry: Bool
    /// Where the receipt goes too.
    let receipt: String?

    /// The same with nothing removed.
    var rehearsal: Request {
      Request(person: person, isCancelling: isCancelling, isDry: true, receipt: nil)
    }
  }

  func run(_ request: Request) async throws -> EraseResponse {
    // What cannot be written is found before anything is gone.
    if let receipt = request.receipt, !request.isDry { try AtomicFile.check(receipt) }
    let eraser = PersonEraser(session.database)
    let erasure = try await eraser.erase(
      request.person, cancelling: request.isCancelling, dry: request.isDry, as: session.actor)
    let isDone = erasure.open == 0 && !request.isDry
    // From here on nothing may keep the receipt from being written.
    var cachedPhoto: CachedPhoto?
    if erasure.open == 0, let photo = erasure.photo {
      cachedPhoto = await photos.remove(photo, isDry: request.isDry)
    }
    var response = EraseResponse(
      person: request.person, isDry: request.isDry, erasure: erasure, cachedPhoto: cachedPhoto,
      at: Date().timeIntervalSince1970,
      entry: isDone ? try? await eraser.entry(of: erasure) : nil)
    if isDone, let removal = try? await ImageStore.removeLost(session.database, from: store),
      removal != ImageStore.Removal()
    {
      response.objects = removal
    }
    if isDone, let receipt = request.receipt {
      do {
        try await Self.write(receipt, response.json.json + "\n")
      } catch {
        throw CommandFailure(
          .tryLater,
          "the person is erased (number \(erasure.userID)), but there is no receipt: \(error)",
          advice:
            "Have it written again: analysisctl erase --number \(erasure.userID) --confirm \(erasure.userID) --receipt FILE."
        )
      }
    }
    return response
  }

  private static func write(_ path: String, _ text: String) async throws {
    let outcome = await HelperThread.value {
      Result { () throws(SystemError) in
        var file = try AtomicFile(path)
        try file.write(text)
        _ = try file.commit()
      }
    }
    guard let outcome else { throw CommandFailure(.tryLater, "the system has no thread left") }
    try outcome.get()
  }
}

/// What became of a person's photo in this machine's folder of images by URL.
enum CachedPhoto: Sendable, Equatable {
  case removed
  /// It is not there.
  case absent
  /// Nobody can say whether it is there, and why not.
  case notLookedFor(String)
  /// It is there still, and why.
  case notRemoved(String)

  /// As a word for programs.
  var name: String {
    switch self {
    case .removed: "removed"
    case .absent: "not_cached"
    case .notLookedFor: "not_looked_for"
    case .notRemoved: "not_removed"
    }
  }

  /// As a person reads it.
  var message: String {
    switch self {
    case .removed: "removed from this machine"
    case .absent: "not on this machine"
    case .notLookedFor(let reason): "not looked for: \(reason)"
    case .notRemoved(let reason): "not removed: \(reason)"
    }
  }

  /// Why it may be there still.
  var reason: String? {
    switch self {
    case .removed, .absent: nil
    case .notLookedFor(let reason), .notRemoved(let reason): reason
    }
  }
}

/// Takes photos out of this machine's folder of images by URL.
struct PhotoRemover: Sendable {
  /// Where the folder is; nil when nobody says.
  let folder: String?
  /// What its files are encrypted with; nil when nobody says.
  let keys: KeyRing?

  /// Removes the photo of an address, or says what became of that: an erasure that is done is not to fail by it.
  func remove(_ address: String, isDry: Bool) async -> CachedPhoto {
    guard let folder else { return .notLookedFor("no folder is named (--url-cache)") }
    guard let keys else { return .notLookedFor("no key file is named (--key-file)") }
    return await HelperThread.value { Self.remove(address, folder, keys, isDry) }
      ?? .notLookedFor("the system has no thread left")
  }

  private static func remove(
    _ address: String, _ folder: String, _ keys: KeyRing, _ isDry: Bool
  ) -> CachedPhoto {
    let found: CachedCopy
    do {
      switch try CachedCopy.search(for: address, in: folder, keys: keys) {
      case .found(let copy): found = copy
      case .absent: return .absent
      case .unreadable: return .notLookedFor("its names cannot be read with this key file")
      }
    } catch {
      return .notLookedFor("\(error)")
    }
    do {
      if !isDry { try found.remove() }
      return .removed
    } catch {
      return .notRemoved("\(error)")
    }
  }
}
