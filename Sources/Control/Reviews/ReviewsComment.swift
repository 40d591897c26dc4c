import CommandLineTool

/// `analysisctl reviews comment`.
enum ReviewsCommentCommand {
  static let text = Argument(
    "text", .any,
    help: "The comment; - reads it from standard input, where other users of this machine cannot see it.")

  static let command = ControlCommand(
    "comment", abstract: "Add a comment to a job's analysis.",
    discussion: """
      It stands below the comments that are there. A clinician who gave no verdict may comment too. What is refused is \
      as with reviews add.
      """,
    examples: [
      Example("analysisctl reviews comment 123 blurred", "A word; quote what has blanks in it."),
      Example("analysisctl reviews comment 123 - < comment.txt", "Several lines."),
    ],
    inputs: [ReasonOption.reason, ReviewsCommand.job, text],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission],
    feature: .reviews
  ) { context in
    try await ReviewsAddCommand.add(
      nil, try await ReviewComment.read(try context[text], context), context)
  }
}
