import CommandLineTool

/// `analysisctl audit`.
enum AuditCommand {
  static let command = ControlCommand(
    "audit", abstract: "Show who did what, and verify that nothing of it was changed.",
    examples: [
      Example("analysisctl audit list --user u1", "What was done to a user and their jobs."),
      Example("analysisctl audit list --action report --since 2026-11-01T00:00:00Z", "Who read diagnoses."),
      Example("analysisctl audit verify", "Whether the record is whole; prints its end."),
      Example("analysisctl audit keep --audit-ends journal", "Keep its end outside of the database."),
    ],
    subcommands: [AuditListCommand.command, AuditVerifyCommand.command, AuditKeepCommand.command])
}
