import CommandLineTool
import Queue
import Support

enum UsersImportCommand {
  static let file = Argument(
    optional: "file", .path, help: "The file; standard input unless given, or for -.")
  static let format = Option<UserFile.Format?>(
    "format", .choice(UserFile.Format.self),
    help: "How the file is written; by its ending unless given: csv for .csv, else json.")
  static let dryRun = Flag("dry-run", help: "Say what would change, and change nothing.")

  static let command = ControlCommand(
    "import", abstract: "Add or update users from a table, or from the endpoint's profile answers.",
    discussion: """
      CSV, with commas or semicolons, begins with a line that names its columns, in any order: user and any of plan, \
      zone, anchor, clinic, name, email, birthday (1980-05-31), address, gender and photo. An empty cell leaves what is known \
      as it is; a user who is not there is added, with the plan free unless one is named.

      JSON is a profile answer ({"user": {…}}), a bare user, an array of them, or a line for each. The id becomes the \
      user's name here and the subscription the plan of a new user; a known user's plan stays, and a \
      message says where the answer has another. The answer to a log-in ({"data": {…}}) is read too, of which \
      nama_lengkap is the name. What it says of the clinic (kl_nama, kl_logo, app_jenis) is named and not taken: clinics \
      are made with clinics add, and given their users with clinics assign.

      A row that is refused does not stop the others, and the exit code is 4; where a table says nothing new it is 5. \
      The later of two rows of a user counts. A photo's address (photo, photoUrl) is taken where \
      --url-hosts allows its host, and passed over where nothing may be fetched by URL; so is its name (photo, photoUrl \
      or logo) below --photo-base.
      """,
    examples: [
      Example("analysisctl users import users.csv --dry-run", "See what a table would change."),
      Example("analysisctl users import users.csv", "Change it."),
      Example("analysisctl users import profile.json", "One answer of the endpoint."),
      Example("analysisctl users import < profiles.jsonl", "Many, a line each."),
    ],
    inputs: [
      format, dryRun, RemoteImageOptions.hosts, RemoteImageOptions.photoBase, ReasonOption.reason, file,
    ],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater]
  ) { context in
    let hosts = context.product?.off[.imagesByURL] == nil ? try context[RemoteImageOptions.hosts] : []
    let (base, isDry) = (try context[RemoteImageOptions.photoBase], try context[dryRun])
    let path = try context[file].flatMap { $0 == "-" ? nil : $0 }
    let format = try context[format] ?? UserFile.Format(of: path)
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      let bytes =
        try path.map { try InputFile.readText($0, limit: Manifest.limit) }
        ?? context.dependencies.standardInput(Manifest.limit)
      return try UserFile.entries(bytes, format, name: path.map { FileName.shown($0) } ?? "standard input")
        .map { $0.withPhoto(from: hosts, below: base) }
    }
    let entries = try await reading.value
    return try await context.withSession { session in
      let users = UserDirectory(session.database)
      var entries = entries
      let plans = format == .json ? try await users.keepPlans(&entries) : []
      let outcomes = try await users.take(
        entries.compactMap { try? $0.record.get() }, dry: isDry, by: session.actor)
      let response = UsersImportResponse(entries, outcomes, isDry: isDry, isTable: format == .csv)
      try session.view.show(response)
      if let notTaken = response.notTaken { session.view.sayUnlessJSON(notTaken) }
      for plan in plans.prefix(10) { session.view.sayUnlessJSON(plan) }
      if plans.count > 10 {
        session.view.sayUnlessJSON("The answers have another plan of \(plans.count - 10) more users, too.")
      }
      return response.exitCode
    }
  }
}

extension UserDirectory {
  /// Leaves out the plan of each known user who has another one here: an answer of the endpoint says what is billed there.
  ///
  /// - Returns: A sentence for each.
  fileprivate func keepPlans(_ entries: inout [UserFile.Entry]) async throws(JobQueueError) -> [String] {
    let indices = entries.indices.filter { (try? entries[$0].record.get())?.plan != nil }
    let outcomes = try await take(indices.compactMap { try? entries[$0].record.get() }, dry: true)
    var sentences: [String] = []
    for (index, outcome) in zip(indices, outcomes) {
      guard case .updated(let changes) = outcome, case .success(var record) = entries[index].record,
        let change = changes.first(where: { $0.field == "plan" }), let was = change.was
      else { continue }
      record.plan = nil
      record.notTaken.append(UsersImportResponse.plan)
      entries[index] = UserFile.Entry(line: entries[index].line, record: .success(record))
      sentences.append(
        "The plan of \(printable(record.reference)) is \(printable(was)) here and "
          + "\(printable(change.becomes ?? "none")) in the answer: analysisctl users set-plan changes it.")
    }
    return sentences
  }
}

/// What became of each row. Names and addresses are not repeated.
struct UsersImportResponse: Sendable, Equatable, Presentable {
  struct Line: Sendable, Equatable {
    let line: Int
    /// Nil where the line could not be read.
    let user: String?
    let outcome: UserOutcome
    /// The members of which nothing was taken over.
    var notTaken: [String] = []
  }

  let lines: [Line]
  /// Whether nothing was changed.
  var isDry = false
  /// Whether the rows are known by their lines.
  var isTable = false

  init(lines: [Line]) {
    self.lines = lines
  }

  /// - Parameter outcomes: Of the records that could be read, in their order.
  init(_ entries: [UserFile.Entry], _ outcomes: [UserOutcome], isDry: Bool, isTable: Bool) {
    var rest = outcomes[...]
    lines = entries.map { entry in
      switch entry.record {
      case .failure(let fault):
        Line(line: entry.line, user: fault.user, outcome: .refused(fault.sentence))
      case .success(let record):
        Line(
          line: entry.line, user: record.reference,
          outcome: rest.popFirst() ?? .refused("The database gave no answer."), notTaken: record.notTaken)
      }
    }
    self.isDry = isDry
    self.isTable = isTable
  }

  /// Among what was not taken: the plan of a known user, of whom a sentence of its own tells.
  static let plan = "plan"

  /// What of the answers' clinics was left out, and how to do it; nil for nothing.
  var notTaken: String? {
    let users = lines.map { $0.notTaken.filter { $0 != Self.plan } }.filter { !$0.isEmpty }
    guard !users.isEmpty else { return nil }
    let names = Set(users.joined()).sorted().joined(separator: ", ")
    return
      "Not taken: \(names), of \(users.count == 1 ? "1 user" : "\(users.count) users"). Make the clinic with "
      + "analysisctl clinics add and clinics set, and give it its users with clinics assign."
  }

  var exitCode: ExitCode {
    var isChanged = false
    for line in lines {
      switch line.outcome {
      case .refused: return .refused
      case .created, .updated: isChanged = true
      case .unchanged: break
      }
    }
    return isChanged || !isTable && !lines.isEmpty ? .done : .nothingToDo
  }

  var json: JSONValue {
    [
      "profiles": .array(
        lines.map { line in
          [
            "line": .count(line.line), "user": .text(line.user), "outcome": .string(line.outcome.name),
            "message": .text(line.outcome.reason),
            "changed": .array(line.outcome.changes.map { .string($0.field) }),
            "not_taken": .array(line.notTaken.map(JSONValue.string)),
          ]
        }),
      "dry_run": .bool(isDry),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !lines.isEmpty else { return "No profiles.\n" }
    return lines.map { line in
      let word = isDry ? line.outcome.wouldBe : line.outcome.name
      let painted = line.outcome.reason == nil ? paint.green(word) : paint.red(word)
      let name = line.user.map(printable)
      let place = isTable || name == nil ? "line \(line.line)" : nil
      let shown = [name, place.map { name == nil ? $0 : "(\($0))" }].compactMap { $0 }.joined(separator: " ")
      let fields = isDry ? line.outcome.changes.map(\.field).joined(separator: ", ") : ""
      let more = line.outcome.reason.map(printable) ?? (fields.isEmpty ? nil : fields)
      return "\(painted) \(shown)\(more.map { ": \($0)" } ?? "")\n"
    }.joined() + (isDry ? "Nothing was changed.\n" : "")
  }
}

extension UserOutcome {
  /// A word for it.
  fileprivate var name: String {
    switch self {
    case .created: "created"
    case .updated: "updated"
    case .unchanged: "unchanged"
    case .refused: "refused"
    }
  }

  /// The same of what was not done.
  fileprivate var wouldBe: String {
    switch self {
    case .created: "would create"
    case .updated: "would update"
    case .unchanged, .refused: name
    }
  }

  /// Why it was refused.
  fileprivate var reason: String? {
    if case .refused(let reason) = self { reason } else { nil }
  }

  fileprivate var changes: [UserChange] {
    if case .updated(let changes) = self { changes } else { [] }
  }
}
