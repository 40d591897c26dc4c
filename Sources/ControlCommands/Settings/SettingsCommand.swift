import CommandLineTool
import Formatting
import Administration
import System

/// `analysisctl settings`.
enum SettingsCommand {
  static let name = Argument("name", .string, help: "The setting's name.")
  static let value = Argument("value", .string, help: "Its new value; '' where it may be empty.")
  static let dryRun = Flag("dry-run", help: "Say what would be changed, and change nothing.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "settings", abstract: "Show the settings of the installation, and change them.",
      discussion: """
        They are kept in the database and hold for every program at once. The options of a program are in its \
        configuration file instead.
        """,
      examples: [
        Example("analysisctl settings", "The settings, and what each means."),
        Example("analysisctl settings set keep_images '90 days'", "Keep images longer."),
      ],
      subcommands: [list(dependencies), set(dependencies)],
      exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      try await show(context, dependencies)
    }
  }

  private static func list(_ dependencies: Dependencies) -> Command {
    Command(
      "list", abstract: "Show the settings, as settings alone does.",
      examples: [Example("analysisctl settings list --json", "For a program.")],
      exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      try await show(context, dependencies)
    }
  }

  private static func show(_ context: Context, _ dependencies: Dependencies) async throws -> ExitCode {
    try await context.withSession(dependencies) { session in
      try session.view.show(try await SettingDirectory(session.database).list(), by: SettingList.self)
      return .done
    }
  }

  private static func set(_ dependencies: Dependencies) -> Command {
    Command(
      "set", abstract: "Change a setting.",
      discussion: """
        It shows what would be changed and asks. A script gives --yes. The audit has an entry of each change. The \
        new value holds from the next submit, claim, report or purge on.
        """,
      examples: [
        Example("analysisctl settings set keep_images '90 days'", "Keep images for 90 days."),
        Example("analysisctl settings set max_waiting_per_user '' --dry-run", "What would be changed."),
        Example("analysisctl settings set zone Asia/Jakarta --yes --reason moved", "From a script."),
      ],
      inputs: [dryRun, Confirmation.yes, ReasonOption.reason, name, value],
      exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let (name, value) = (try context.values[name], try context.values[value])
      let (isDry, isGiven) = (try context.values[dryRun], try context.values[Confirmation.yes])
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        let directory = SettingDirectory(session.database)
        let settings = try await directory.list()
        guard let setting = settings.first(where: { $0.name == name }) else {
          throw unknown(name, settings)
        }
        let before = try await directory.preview(name, value: value)
        var change = SettingChange(setting: setting, before: before, after: value, outcome: .unchanged)
        if before != value {
          change.outcome = .wouldChange
          if !isDry {
            try await Confirmation.require(
              SettingChange.text(change, width: nil, paint: .plain) + "Change it?", isGiven: isGiven, session,
              dependencies)
            guard
              try await directory.set(name, value: value, before: before, by: session.actor(reason))
            else {
              throw ControlError(
                .tryLater, "Somebody else changed \(name) at the same moment; nothing was changed.",
                advice: "See what it is now with analysisctl settings, and decide again.")
            }
            change.outcome = .changed
          }
        }
        try session.view.show(change, by: SettingChange.self)
        return change.outcome == .unchanged ? .nothingToDo : .done
      }
    }
  }

  private static func unknown(_ name: String, _ settings: [Setting]) -> ControlError {
    let near = nearestKey(to: name, among: Set(settings.map(\.name)))
    return ControlError(
      .refused, "There is no setting \(name).",
      advice: near.map { "Is \($0) meant?" } ?? "See which there are with analysisctl settings.")
  }
}

extension Setting {
  /// A value of it as people read it.
  func shown(_ value: String) -> String { value.isEmpty ? emptyMeaning ?? "" : value }
}

/// Shows the settings.
enum SettingList: Presenter {
  static func json(_ settings: [Setting]) -> JSONValue {
    [
      "settings": .array(
        settings.map { setting in
          [
            "name": .string(setting.name), "value": .string(setting.value),
            "default": .string(setting.standard), "empty_means": .text(setting.emptyMeaning),
            "meaning": .string(setting.meaning),
          ]
        })
    ]
  }

  static func text(_ settings: [Setting], width: Int?, paint: Paint) -> String {
    var table = Table([.init("SETTING"), .init("VALUE"), .init("DEFAULT"), .init("MEANING", shrinks: true)])
    for setting in settings {
      table.add([
        Cell(setting.name),
        Cell(setting.shown(setting.value), setting.value == setting.standard ? nil : .yellow),
        Cell(setting.shown(setting.standard)), Cell(setting.meaning),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}

/// What `settings set` does to a setting.
struct SettingChange: Sendable {
  /// What came of it.
  enum Outcome: String, Sendable {
    case changed, unchanged
    case wouldChange = "would_change"
  }

  let setting: Setting
  let before: String
  let after: String
  var outcome: Outcome

  /// What the change leads to that is not plain from the value.
  var note: String? {
    guard outcome != .unchanged, setting.name.hasPrefix("keep_") else { return nil }
    return "What is older is removed by the next purge; analysisctl purge --dry-run shows what that is."
  }
}

extension SettingChange: Presenter {
  static func json(_ change: SettingChange) -> JSONValue {
    [
      "name": .string(change.setting.name), "before": .string(change.before), "after": .string(change.after),
      "outcome": .string(change.outcome.rawValue),
    ]
  }

  static func text(_ change: SettingChange, width: Int?, paint: Paint) -> String {
    let (before, after) = (change.setting.shown(change.before), change.setting.shown(change.after))
    let line =
      switch change.outcome {
      case .changed: "\(change.setting.name): changed from \(before) to \(after)"
      case .wouldChange: "\(change.setting.name): would change from \(before) to \(after)"
      case .unchanged: "\(change.setting.name): is \(before) already"
      }
    return printable(line) + "\n" + (change.note.map { $0 + "\n" } ?? "")
  }
}
