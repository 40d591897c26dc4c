import CommandLineTool
import Support

/// `analysisctl settings`.
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
      try session.view.show(
        SettingsResponse(settings: try await SettingDirectory(session.database).list()))
      return .done
    }
  }
}

/// The settings as they are.
struct SettingsResponse: Presentable {
  let settings: [Setting]

  var json: JSONValue {
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

  func text(width: Int?, paint: Paint) -> String {
    var table = Table([
      .init("SETTING"), .init("VALUE", wraps: true), .init("DEFAULT", shrinks: true),
      .init("MEANING", shrinks: true),
    ])
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

extension Setting {
  /// A value of it as people read it.
  func shown(_ value: String) -> String { value.isEmpty ? emptyMeaning ?? "" : value }
}
