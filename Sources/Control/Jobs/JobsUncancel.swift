import CommandLineTool

/// `analysisctl jobs uncancel`.
enum JobsUncancelCommand {
  static let command = ControlCommand(
    "uncancel", abstract: "Queue cancelled jobs again, for a day.",
    discussion: """
      Each takes a unit of the present month of its user, the lowest numbers first, and runs at once, also where it \
      was to run later. Those for which the limit has no unit left stay cancelled, and the exit code is 3. What was \
      cancelled more than a day ago, whose image is gone or whose person was erased stays too, with 4. A job that a \
      worker has still in hand is left as it is: 75, try again in some seconds.
      """,
    examples: [
      Example("analysisctl jobs uncancel 123 124", "Two jobs."),
      Example("analysisctl jobs uncancel --user u1 --dry-run", "What of a user's can be undone."),
    ],
    inputs: JobsChange.inputs,
    exitCodes: [.done, .quotaRefused, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in try await JobsChange.uncancel.run(context) }
}
