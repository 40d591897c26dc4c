import CommandLineTool

/// `analysisctl jobs cancel`.
enum JobsCancelCommand {
  static let command = ControlCommand(
    "cancel", abstract: "Cancel jobs and give their units back.",
    discussion: """
      A job that is running is cancelled too: what its worker brings is not stored. Jobs that have ended stay \
      as they are, and the exit code is 4. One that somebody else is retrying or cancelling at the moment is \
      left as it is after 2 s, and the exit code is 75. More than ten are asked for first; a script gives --yes. For \
      a day jobs uncancel undoes it.
      """,
    examples: [
      Example("analysisctl jobs cancel 123 124", "Two jobs."),
      Example("analysisctl jobs cancel 123 --reason duplicate", "With the reason, for the audit."),
      Example("analysisctl jobs cancel --user u1 --state scheduled --dry-run", "What would be cancelled."),
    ],
    inputs: JobsChange.inputs,
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in try await JobsChange.cancel.run(context) }
}
