import CommandLineTool

/// `analysisctl roles`.
enum RolesCommand {
  static let command = ControlCommand(
    "roles", abstract: "Make the logins of an installation, and show what each login may do.",
    discussion: """
      Each kind of work is a role of the database that cannot log in. A login gets it by a plain GRANT, from a \
      superuser or whoever has the role WITH ADMIN OPTION: GRANT analysis_operator TO alice;
      """,
    examples: [
      Example("analysisctl roles setup --out /etc/analysis", "Make a login for each part."),
      Example("analysisctl roles check", "See which command each login may run."),
    ],
    subcommands: [RolesSetupCommand.command, RolesCheckCommand.command])
}
