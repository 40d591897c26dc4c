import CommandLineTool

/// `analysisctl reviews add`.
enum ReviewsAddCommand {
  static let verdict = Option<Verdict?>(
    "verdict", .choice(Verdict.self), help: "Whether the primary condition is right.")
  static let comment = Option<String?>(
    "comment", .any,
    help:
      "Add a comment of at most \(ReviewDirectory.mostCharacters) characters; - reads it from standard input, where "
      + "other users of this machine cannot see it.")

  static let command = ControlCommand(
    "add", abstract: "Give your verdict of a job's analysis, or change it.",
    discussion: """
      The verdict is that of the database login. One that was given before is kept beside the new one. A review of a \
      job that has no analysis, whose person was erased, or that this login does not see is refused with exit code 4, \
      and nothing is stored. 5 says that the same verdict stands there already. The audit records that the job was \
      reviewed, without the verdict and without the comment.
      """,
    examples: [
      Example("analysisctl reviews add 123 --verdict agree", "It is right."),
      Example(
        "analysisctl reviews add 123 --verdict disagree --comment - < comment.txt",
        "It is not, with a comment of several lines."),
    ],
    inputs: [verdict, comment, ReasonOption.reason, ReviewsCommand.job],
    exitCodes: [
      .done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission,
    ],
    feature: .reviews
  ) { context in
    guard let verdict = try context[verdict] else {
      throw CommandFailure.usage(
        "no verdict is given",
        advice: "Give --verdict agree, disagree or unsure; reviews comment adds a comment alone.")
    }
    var comment: String?
    if let given = try context[Self.comment] { comment = try await ReviewComment.read(given, context) }
    return try await add(verdict, comment, context)
  }

  /// Stores a verdict, a comment or both, and says what came of it.
  static func add(
    _ verdict: Verdict?, _ comment: String?, _ context: ControlContext
  ) async throws -> ExitCode {
    let job = try context[ReviewsCommand.job]
    return try await context.withSession { session in
      try await session.requireReviews(of: job)
      let outcome = try await ReviewDirectory(session.database).add(
        verdict, comment: comment, to: job, by: session.actor)
      let response = ReviewsAddResponse(job: job, verdict: verdict, outcome: outcome)
      try session.view.show(response)
      return response.isChanged ? .done : .nothingToDo
    }
  }
}
