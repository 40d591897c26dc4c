import CommandLineTool
import Queue

/// `analysisctl resume`.
enum ResumeCommand {
  static let command = ControlCommand(
    "resume", abstract: "End a pause.",
    discussion: """
      It ends the pause that was made with the same options, and tells which others there are. Ending one that \
      is not there changes nothing.
      """,
    examples: [
      Example("analysisctl resume --type ear", "Ear images are sent again."),
      Example("analysisctl resume", "End the pause of everything."),
    ],
    inputs: PauseTarget.inputs + [ReasonOption.reason],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let scope = try PauseTarget.scope(context)
    return try await context.withSession { session in
      let pauses = PauseDirectory(session.database)
      let outcome = try await pauses.resume(scope, by: session.actor) ? "resumed" : "unchanged"
      try session.view.show(
        PauseResponse(scope: scope, outcome: outcome, inForce: try await pauses.inForce()))
      return .done
    }
  }
}
