import CommandLineTool
import Support

enum ReviewsCommand {
  static let job = Argument("job", .jobID, help: "The number of an analysed job.")

  static let command = ControlCommand(
    "reviews", abstract: "Say whether an analysis is right, and see what others say.",
    discussion: """
      A review is a clinician's verdict of the primary condition that an analysis found: agree, disagree, with the \
      condition that it is instead, or unsure. \
      Each login has one verdict of a job; a change keeps the one before. Comments stand below each other, and their \
      readers are recorded. analysisctl report agreement and report calibration add up the verdicts.
      """,
    examples: [
      Example("analysisctl reviews add 123 --verdict agree", "The analysis of job 123 is right."),
      Example("analysisctl reviews list --job 123", "What was said of it, with the comments."),
      Example("analysisctl reviews list --verdict disagree --month current", "Which were not, this month."),
    ],
    subcommands: [ReviewsAddCommand.command, ReviewsCommentCommand.command, ReviewsListCommand.command])
}

/// A comment as it is given.
enum ReviewComment {
  /// The comment: what was given, or what stands on standard input for a dash. No word of it is in an error, where an
  /// option's own check would repeat it: it may tell who somebody is.
  static func read(_ given: String, _ context: ControlContext) async throws -> String {
    // Of the longest characters, and a line end.
    let text =
      given == "-"
      ? try await context.dependencies.text(atMost: 4 * ReviewDirectory.mostCharacters + 2) : given
    return try check(text, "comment", atMost: ReviewDirectory.mostCharacters)
  }

  /// A text that can be seen and is short enough; the error says nothing of its words.
  static func check(_ text: String, _ name: String, atMost most: Int) throws -> String {
    guard printable(text).contains(where: { !$0.isWhitespace }) else {
      throw CommandFailure.usage("the \(name) is empty")
    }
    guard !text.utf8.contains(0) else { throw CommandFailure.usage("the \(name) holds a NUL character") }
    guard text.unicodeScalars.count <= most else {
      throw CommandFailure.usage("the \(name) has more than \(most) characters")
    }
    return text
  }
}

/// What came of a review or a comment.
struct ReviewsAddResponse: Sendable, Equatable, Presentable {
  let job: JobID
  /// The verdict that was given; nil: only a comment.
  let verdict: Verdict?
  /// The condition that it is instead; nil: not said.
  let instead: String?
  let outcome: ReviewOutcome

  /// Whether the verdict is what it was before.
  private var isAsBefore: Bool {
    verdict == nil || (verdict == outcome.before && instead == outcome.beforeInstead)
  }

  /// Whether the database has something new.
  var isChanged: Bool { outcome.comment != nil || !isAsBefore }

  var json: JSONValue {
    [
      "job": .id(job), "verdict": .text((verdict ?? outcome.before)?.rawValue),
      "instead": .text(verdict == nil ? outcome.beforeInstead : instead),
      "before": .text(outcome.before?.rawValue), "version": .count(outcome.version),
      "comment": .count(outcome.comment), "changed": .bool(isChanged),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let comment = outcome.comment.map { "comment \($0) added" }
    let given = verdict.map { verdict in
      let text = verdict.text(instead: instead.map { printable($0) })
      return switch outcome.before {
      case nil: text
      case _ where isAsBefore: "\(text), as before"
      case let before?:
        "\(text), changed from \(before.text(instead: outcome.beforeInstead.map { printable($0) }))"
      }
    }
    return "job \(job): \([given, comment].compactMap(\.self).joined(separator: "; "))\n"
  }
}

enum ReviewsAddCommand {
  static let verdict = Option<Verdict?>(
    "verdict", .choice(Verdict.self), help: "Whether the primary condition is right.")
  static let instead = Option<String?>(
    "instead", .any, help: "With disagree: the condition that it is, in at most 200 characters.")
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
      Example("analysisctl reviews add 123 --verdict disagree --instead Pharyngitis", "It is another one."),
      Example(
        "analysisctl reviews add 123 --verdict disagree --comment - < comment.txt",
        "It is not, with a comment of several lines."),
    ],
    inputs: [verdict, instead, comment, ReasonOption.reason, ReviewsCommand.job],
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
    let instead = try context[Self.instead].map {
      try ReviewComment.check($0, "name of a condition", atMost: ReviewDirectory.mostInstead)
    }
    guard instead == nil || verdict == .disagree else {
      throw CommandFailure.usage("--instead goes with --verdict disagree alone")
    }
    return try await add(verdict, instead: instead, comment, context)
  }

  /// Stores a verdict, a comment or both, and says what came of it.
  static func add(
    _ verdict: Verdict?, instead: String? = nil, _ comment: String?, _ context: ControlContext
  ) async throws -> ExitCode {
    let job = try context[ReviewsCommand.job]
    return try await context.withSession { session in
      try await session.requireReviews(of: job)
      let outcome = try await ReviewDirectory(session.database).add(
        verdict, instead: instead, comment: comment, to: job, by: session.actor)
      let response = ReviewsAddResponse(job: job, verdict: verdict, instead: instead, outcome: outcome)
      try session.view.show(response)
      return response.isChanged ? .done : .nothingToDo
    }
  }
}

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
