import CommandLineTool

/// `analysisctl jobs retry`.
enum JobsRetryCommand {
  static let command = ControlCommand(
    "retry", abstract: "Queue dead jobs again.",
    discussion: """
      Each takes a unit of the present month of its user, the lowest numbers first; those for which the limit \
      has none left stay dead, and the exit code is 3. One that somebody else is changing, or whose user submits just \
      now, is left as it is: 75, try again. More than ten are asked for first; a script gives --yes.
      """,
    examples: [
      Example("analysisctl jobs retry 123", "One job."),
      Example("analysisctl jobs retry --user u1 --month previous", "What failed for a user last month."),
      Example("analysisctl jobs retry --cause server", "Jobs that died because the endpoint failed."),
    ],
    inputs: [JobFilterOptions.cause] + JobsChange.inputs,
    exitCodes: [.done, .quotaRefused, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in try await JobsChange.retry.run(context) }
}
