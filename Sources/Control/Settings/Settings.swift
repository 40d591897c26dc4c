import CommandLineTool
import PostgreSQL
import Queue
import Support

enum SettingsCommand {
  static let command = ControlCommand(
    "settings", abstract: "Show the settings of the installation, and change them.",
    discussion: """
      They are kept in the database and hold for every program at once. The options of a program are in its \
      configuration file instead.
      """,
    examples: [
      Example("analysisctl settings", "The settings, and what each means."),
      Example("analysisctl settings set max_waiting_per_user 50000", "Let a user have fewer jobs waiting."),
    ],
    subcommands: [list, SettingsSetCommand.command],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    try await show(context)
  }

  private static let list = ControlCommand(
    "list", abstract: "Show the settings, as settings alone does.",
    examples: [Example("analysisctl settings list --json", "For a program.")],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    try await show(context)
  }

  private static func show(_ context: ControlContext) async throws -> ExitCode {
    try await context.withSession { session in
      return try session.show(
        SettingsResponse(settings: try await SettingDirectory(session.database).list()))
    }
  }
}

/// The settings as they are.
struct SettingsResponse: Presentable {
  let settings: [Setting]

  private static let columns: [ListColumn<Setting>] = [
    .init("SETTING") { Cell($0.name) }.json("name") { .string($0.name) },
    .init("VALUE", wraps: true) { Cell($0.shown($0.value), $0.value == $0.standard ? nil : .yellow) }
      .json("value") { .string($0.value) },
    .init("DEFAULT", shrinks: true) { Cell($0.shown($0.standard)) }.json("default") { .string($0.standard) },
    .init(json: "empty_means") { .text($0.emptyMeaning) },
    .init("MEANING", shrinks: true) { Cell($0.meaning) }.json("meaning") { .string($0.meaning) },
  ]

  var json: JSONValue { ["settings": settings.json(Self.columns)] }

  func text(width: Int?, paint: Paint) -> String {
    settings.table(Self.columns).render(width: width, paint: paint)
  }
}

extension Setting {
  /// A value as the database takes it: a number of bytes with a unit becomes one without.
  fileprivate static func value(_ given: String, of name: String) -> String {
    guard name.contains("bytes"), let bytes = try? ValueFormat.byteSize(in: 0...Int.max).parse(given) else {
      return given
    }
    return String(bytes)
  }

  /// A value of it as people read it.
  func shown(_ value: String) -> String { value.isEmpty ? emptyMeaning ?? "" : value }
}

enum SettingsSetCommand {
  static let name = Argument("name", .string, help: "The setting's name.")
  static let value = Argument(
    "value", .settingValue,
    help: "Its new value; '' where it may be empty. Numbers of bytes may have a unit: 45MB, 64MiB.")
  static let dryRun = Flag("dry-run", help: "Say what would be changed, and change nothing.")

  static let command = ControlCommand(
    "set", abstract: "Change a setting.",
    discussion: """
      It shows what would be changed and asks. A script gives --yes. The audit has an entry of each change. The \
      new value holds from the next submit, claim, report or purge on.
      """,
    examples: [
      Example("analysisctl settings set lane_shares 4,3,1", "Give normal jobs more of the claims."),
      Example("analysisctl settings set max_waiting_per_user 50000 --dry-run", "What would be changed."),
      Example("analysisctl settings set max_database_bytes 400GB", "Take no new job above this."),
      Example("analysisctl settings set zone Asia/Jakarta --yes --reason moved", "From a script."),
    ],
    inputs: [dryRun, Confirmation.yes, ReasonOption.reason, name, value],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (name, isDry) = (try context[name], try context[dryRun])
    let value = Setting.value(try context[value], of: name)
    return try await context.withSession { session in
      let directory = SettingDirectory(session.database)
      let settings = try await directory.list()
      guard let setting = settings.first(where: { $0.name == name }) else { throw unknown(name, settings) }
      let before = try await directory.preview(name, value: value)
      var change = SettingChange(setting: setting, before: before, after: value, outcome: .unchanged)
      if before != value {
        change.outcome = .wouldChange
        if !isDry {
          try await Confirmation.require(change.text(width: nil, paint: Paint(false)) + "Change it?", session)
          guard try await directory.set(name, value: value, before: before, by: session.actor) else {
            throw CommandFailure(
              .tryLater, "Somebody else changed \(name) at the same moment; nothing was changed.",
              advice: "See what it is now with analysisctl settings, and decide again.")
          }
          change.outcome = .changed
        }
      }
      try session.view.show(change)
      return change.outcome == .unchanged ? .nothingToDo : .done
    }
  }

  private static func unknown(_ name: String, _ settings: [Setting]) -> CommandFailure {
    let near = nearest(to: name, among: settings.map(\.name))
    return CommandFailure(
      .refused, "There is no setting \(name).",
      advice: near.map { "Is \($0) meant?" } ?? "See which there are with analysisctl settings.")
  }
}

extension ValueFormat where Value == String {
  /// A setting's value; the database knows which it may have.
  fileprivate static var settingValue: Self {
    ValueFormat(name: "VALUE", parse: { (given: String) throws(ValueError) -> String in given }, text: { $0 })
  }
}

/// What `settings set` does to a setting.
struct SettingChange: Presentable {
  /// What came of it.
  enum Outcome: String {
    case changed, unchanged
    case wouldChange = "would_change"
  }

  let setting: Setting
  let before: String
  let after: String
  var outcome: Outcome

  var json: JSONValue {
    [
      "name": .string(setting.name), "before": .string(before), "after": .string(after),
      "outcome": .string(outcome.rawValue),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let (before, after) = (setting.shown(before), setting.shown(after))
    let line =
      switch outcome {
      case .changed: "\(setting.name): changed from \(before) to \(after)"
      case .wouldChange: "\(setting.name): would change from \(before) to \(after)"
      case .unchanged: "\(setting.name): is \(before) already"
      }
    return printable(line) + "\n" + (note.map { $0 + "\n" } ?? "")
  }

  /// What the change leads to that is not plain from the value.
  private var note: String? {
    guard outcome != .unchanged else { return nil }
    if setting.name.hasPrefix("keep_") {
      return "What is older is removed by the next purge; analysisctl purge --dry-run shows what that is."
    }
    if setting.name.hasPrefix("max_"), Int(after) == 0 {
      return "With 0 no new job is taken at all. '' stands for no limit."
    }
    return nil
  }
}

/// A value in the database that holds for the whole installation.
struct Setting: Sendable, Equatable, RenamedColumns {
  static let columns = ["standard": "default", "emptyMeaning": "empty"]

  /// Its name, for instance `keep_images`.
  let name: String
  /// What it is now.
  let value: String
  /// What it is until somebody changes it.
  let standard: String
  /// What an empty value means, for instance `for ever`; nil where it may not be empty.
  let emptyMeaning: String?
  /// What it is for.
  let meaning: String
}

/// The settings of an installation. What each may be is in `analysis.check_setting_value`.
struct SettingDirectory: Sendable {
  private let database: ConnectionPool

  /// The settings of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  func list() async throws(JobQueueError) -> [Setting] {
    try await Statement(
      SQLFunction("list_settings", 0), as: [Setting].self, while: "listing the settings"
    ).run(on: database)
  }

  /// What a setting is now, where it can be changed to a value. Nothing is changed.
  ///
  /// - Throws: `badRow` with the rule, where it cannot have this value.
  func preview(_ name: String, value: String) async throws(JobQueueError) -> String {
    try await Statement(
      SQLFunction("preview_setting", 2), [.text(name), .text(storable(value))], as: String.self,
      while: "looking at setting \(name)"
    ).run(on: database)
  }

  /// Changes a setting; false, and nothing is changed, where it is not `before` any more.
  ///
  /// - Throws: `badRow` with the rule, where it cannot have this value.
  func set(
    _ name: String, value: String, before: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("set_setting", 3), [.text(name), .text(storable(value)), .text(before)], as: Bool.self,
      while: "changing setting \(name)"
    ).run(on: database, as: actor)
  }
}
