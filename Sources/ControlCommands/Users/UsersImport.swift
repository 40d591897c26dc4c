import Administration
import CommandLineTool
import Formatting
import JobQueue
import RemoteImages

/// `analysisctl users import`.
enum UsersImportCommand {
  static let file = Argument(
    optional: "file", .path, help: "The file with the answers; standard input unless given, or for -.")

  static let command = ControlCommand(
    "import", abstract: "Add or update users from the endpoint's profile answers.",
    discussion: """
      Reads a JSON profile answer ({"user": {…}}), a bare user, an array of them, or a line of JSON for each. \
      The id becomes the user's name here and the subscription their plan. An answer that is refused does not \
      stop the others, and the exit code is 4. A photo's address (photoUrl) is taken where --url-hosts allows its \
      host, and passed over where nothing may be fetched by URL; so is its name (photoUrl, or logo) below --photo-base. \
      The answer to a log-in ({"data": {…}}) is read too, of which nama_lengkap is the name.
      """,
    examples: [
      Example("analysisctl users import profile.json", "One answer."),
      Example("analysisctl users import < profiles.jsonl", "Many, a line each."),
    ],
    inputs: [RemoteImageOptions.hosts, RemoteImageOptions.photoBase, ReasonOption.reason, file],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater]
  ) { context in
    let path = try context[file]
    let hosts = context.product?.off[.imagesByURL] == nil ? try context[RemoteImageOptions.hosts] : []
    let base = try context[RemoteImageOptions.photoBase]
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try path.flatMap { $0 == "-" ? nil : try InputFile.readText($0, limit: Manifest.limit) }
        ?? context.dependencies.standardInput(Manifest.limit)
    }
    let entries = ProfileFile.entries(try await reading.value)
    return try await context.withSession { session in
      let checked = entries.map { $0.withPhoto(from: hosts, below: base) }
      let outcomes = try await UserDirectory(session.database).importProfiles(
        checked.compactMap { try? $0.answer.get() }, by: session.actor)
      let response = UsersImportResponse(checked, outcomes)
      try session.view.show(response)
      return response.exitCode
    }
  }
}

/// What became of each answer. Names and addresses are not repeated.
struct UsersImportResponse: Sendable, Equatable, Presentable {
  struct Line: Sendable, Equatable {
    let line: Int
    /// Nil where the line could not be read.
    let user: String?
    let outcome: ImportOutcome
  }

  let lines: [Line]

  init(lines: [Line]) {
    self.lines = lines
  }

  /// - Parameter outcomes: Of the answers that could be read, in their order.
  init(_ entries: [ProfileFile.Entry], _ outcomes: [ImportOutcome]) {
    var rest = outcomes[...]
    lines = entries.map { entry in
      switch entry.answer {
      case .failure(let fault):
        Line(line: entry.line, user: fault.user, outcome: .refused(fault.sentence))
      case .success(let answer):
        Line(
          line: entry.line, user: answer.id,
          outcome: rest.popFirst() ?? .refused("The database gave no answer."))
      }
    }
  }

  var exitCode: ExitCode {
    if lines.isEmpty { return .nothingToDo }
    let isRefused = lines.contains { if case .refused = $0.outcome { true } else { false } }
    return isRefused ? .refused : .done
  }

  var json: JSONValue {
    [
      "profiles": .array(
        lines.map { line in
          let (outcome, reason) = line.outcome.message
          return [
            "line": .count(line.line), "user": .text(line.user), "outcome": .string(outcome),
            "message": .text(reason),
          ]
        })
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !lines.isEmpty else { return "No profiles.\n" }
    return lines.map { line in
      let (outcome, reason) = line.outcome.message
      let painted = reason == nil ? paint.green(outcome) : paint.red(outcome)
      let name = line.user.map(printable) ?? "line \(line.line)"
      return "\(painted) \(name)\(reason.map { ": \(printable($0))" } ?? "")\n"
    }.joined()
  }
}

extension ImportOutcome {
  /// A word for it, and why it was refused.
  fileprivate var message: (String, String?) {
    switch self {
    case .created: ("created", nil)
    case .updated: ("updated", nil)
    case .refused(let reason): ("refused", reason)
    }
  }
}

/// The profile answers of a file.
enum ProfileFile {
  /// An answer and the line on which it stands, or what is wrong with that line.
  struct Entry: Sendable, Equatable {
    let line: Int
    let answer: Result<ProfileAnswer, Fault>

    /// The same entry, without a photo that nobody may fetch; refused where its photo is elsewhere than allowed.
    ///
    /// - Parameters:
    ///   - hosts: Where photos may come from; none for leaving photos out.
    ///   - base: Below which address photos are that are given by name.
    func withPhoto(from hosts: [AllowedHost], below base: PhotoBase? = nil) -> Entry {
      guard case .success(var answer) = answer else { return self }
      let given = answer.photoURL ?? (base == nil ? nil : answer.photoName)
      guard let given, !hosts.isEmpty else {
        answer.photoURL = nil
        return Entry(line: line, answer: .success(answer))
      }
      let sentence: String
      do {
        answer.photoURL = try base.address(of: given, among: hosts)
        return Entry(line: line, answer: .success(answer))
      } catch let error as RemoteImageError {
        sentence = error.message
      } catch {
        sentence = "Its name \((error as? PhotoBase.Fault)?.message ?? "cannot be read")."
      }
      return Entry(line: line, answer: .failure(Fault(sentence: "Photo: \(sentence)", user: answer.id)))
    }
  }

  struct Fault: Error, Sendable, Equatable {
    let sentence: String
    /// Whose answer it is, where that much could be read.
    var user: String?
  }

  /// Reads a whole as one JSON text, or else each line as one.
  static func entries(_ bytes: [UInt8]) -> [Entry] {
    if let answers = try? ProfileAnswer.parse(bytes) {
      return answers.map { Entry(line: 1, answer: .success($0)) }
    }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.enumerated().flatMap { index, line -> [Entry] in
      guard line.contains(where: { !" \t\r".utf8.contains($0) }) else { return [] }
      do throws(JobQueueError) {
        return try ProfileAnswer.parse(Array(line)).map { Entry(line: index + 1, answer: .success($0)) }
      } catch {
        return [Entry(line: index + 1, answer: .failure(Fault(sentence: error.message)))]
      }
    }
  }
}
