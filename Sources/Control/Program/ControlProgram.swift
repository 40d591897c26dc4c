public import CommandLineTool
import Support

/// `analysisctl`, all of it but the process.
public enum ControlProgram {
  /// The version that `--version` prints.
  public static let version = ProductVersion.current

  /// The program, ready to be run.
  public static func tool(_ dependencies: Dependencies = .process) -> Tool {
    Tool(
      root(dependencies), version: version, configuration: CommonOptions.source,
      failure: FailureMessage.failure(for:))
  }

  /// The tree of commands; public for the tests of its definition.
  static func root(_ dependencies: Dependencies = .process) -> Command {
    command.command(with: dependencies)
  }

  private static let command = ControlCommand(
    "analysisctl", abstract: "Look after the analysis queue: submit images, watch jobs, print reports.",
    discussion: """
      Every command reaches the database as libpq does: by --database, by the PG* variables, a service file \
      and a password file. An option comes before its environment variable, and that before the \
      configuration file.

      Results go to standard output, messages to standard error. NO_COLOR turns colours off.
      """,
    examples: [
      Example("analysisctl migrate", "Make the schema, or bring it up to date."),
      Example("analysisctl users add u1 --plan free --zone Asia/Jakarta", "Add a user."),
      Example("analysisctl submit --user u1 --type throat photos/", "Submit the images of a folder."),
      Example("analysisctl status", "See what waits and who works."),
      Example("analysisctl doctor", "See whether something is wrong."),
      Example("analysisctl report usage --month previous --out usage.csv", "Write last month's usage."),
    ],
    inputs: CommonOptions.all,
    subcommands: [
      MigrateCommand.command, RolesCommand.command, SubmitCommand.command, StatusCommand.command,
      WatchCommand.command, BatchesCommand.command, JobsCommand.command, ReviewsCommand.command,
      PauseCommand.command, ResumeCommand.command, UsersCommand.command, AccountCommand.command,
      ClinicsCommand.command, ShareCommand.command, PlansCommand.command, SettingsCommand.command,
      KeysCommand.command,
      WebhooksCommand.command, ProductsCommand.command,
      MonthCommand.command, ReportCommand.command, StatementCommand.command,
      ReconcileCommand.command, AuditCommand.command, PurgeCommand.command, EraseCommand.command,
      DoctorCommand.command, ServeCommand.command,
    ],
    exitCodes: ExitCode.all)
}
