import CommandLineTool
import Support

/// `analysisctl settings set`.
enum SettingsSetCommand {
  static let name = Argument("name", .string, help: "The setting's name.")
  static let value = Argument("value", .settingValue, help: "Its new value; '' where it may be empty.")
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
      Example("analysisctl settings set zone Asia/Jakarta --yes --reason moved", "From a script."),
    ],
    inputs: [dryRun, Confirmation.yes, ReasonOption.reason, name, value],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (name, value, isDry) = (try context[name], try context[value], try context[dryRun])
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
    guard outcome != .unchanged, setting.name.hasPrefix("keep_") else { return nil }
    return "What is older is removed by the next purge; analysisctl purge --dry-run shows what that is."
  }
}
