import CommandLineTool
import Support

/// `analysisctl reviews`.
enum ReviewsCommand {
  static let job = Argument("job", .jobID, help: "The number of an analysed job.")

  static let command = ControlCommand(
    "reviews", abstract: "Say whether an analysis is right, and see what others say.",
    discussion: """
      A review is a clinician's verdict of the primary condition that an analysis found: agree, disagree or unsure. \
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
    guard printable(text).contains(where: { !$0.isWhitespace }) else {
      throw CommandFailure.usage("the comment is empty")
    }
    guard !text.utf8.contains(0) else { throw CommandFailure.usage("the comment holds a NUL character") }
    guard text.unicodeScalars.count <= ReviewDirectory.mostCharacters else {
      throw CommandFailure.usage(
        "the comment has more than \(ReviewDirectory.mostCharacters) characters",
        advice: "Add it as several comments.")
    }
    return text
  }
}

/// What came of a review or a comment.
struct ReviewsAddResponse: Sendable, Equatable, Presentable {
  let job: JobID
  /// The verdict that was given; nil: only a comment.
  let verdict: Verdict?
  let outcome: ReviewOutcome

  /// Whether the database has something new.
  var isChanged: Bool { outcome.comment != nil || verdict != outcome.before }

  var json: JSONValue {
    [
      "job": .id(job), "verdict": .text((verdict ?? outcome.before)?.rawValue),
      "before": .text(outcome.before?.rawValue), "version": .count(outcome.version),
      "comment": .count(outcome.comment), "changed": .bool(isChanged),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let comment = outcome.comment.map { "comment \($0) added" }
    let given = verdict.map { verdict in
      switch outcome.before {
      case nil: verdict.rawValue
      case verdict: "\(verdict.rawValue), as before"
      case let before?: "\(verdict.rawValue), changed from \(before.rawValue)"
      }
    }
    return "job \(job): \([given, comment].compactMap(\.self).joined(separator: "; "))\n"
  }
}
