import CommandLineTool
import JobQueue

/// `analysisctl purge`.
enum PurgeCommand {
  static let dryRun = Flag("dry-run", help: "Change nothing; say what would be removed.")
  static let share = Option(
    "share", .int(in: 1...100), default: 20, valueName: "percent",
    help: "How much of the time the database may work for it, in percent; the rest it is left alone.")

  static func command(_ surroundings: Surroundings) -> Command {
    Command(
      "purge", abstract: "Remove what has been kept for as long as the settings say.",
      discussion: """
        The settings keep_images, keep_results, keep_dead, keep_audit and keep_usage say for how long. Jobs that wait, \
        run or are scheduled keep all that they need, and a picture that several jobs show goes with the last of them. \
        A month of which everything is past its time goes as a whole. Before jobs of a month are removed its usage is \
        stated, if it is not yet.

        It works in short transactions, may be stopped at any moment, and goes on where it ended with the next run. 75 \
        says that it was stopped, or that a month's tables were in use.
        """,
      examples: [
        Example("analysisctl purge --dry-run", "What would go."),
        Example("analysisctl purge", "What the timer runs."),
        Example("analysisctl purge --share 100 --json", "As fast as it can, for a program."),
      ],
      inputs: [dryRun, share],
      exitCodes: [.done, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      var settings = Purger.Settings()
      settings.isDry = try context.values[dryRun]
      settings.share = Double(try context.values[share]) / 100
      let chosen = settings
      return try await context.withSession(surroundings) { session in
        let interruption = session.interruption
        interruption.endGracefully()
        let report = try await Purger(session.database, chosen, by: session.actor("retention"))
          .run { interruption.isAsked }
        let response = PurgeResponse(report: report, isDry: chosen.isDry)
        try session.view.show(response, by: PurgePresenter.self)
        return response.exitCode
      }
    }
  }
}

/// What a purge came to.
struct PurgeResponse: Sendable, Equatable {
  let report: PurgeReport
  let isDry: Bool

  var exitCode: ExitCode {
    if !report.isComplete || !report.busyMonths.isEmpty { return .tryLater }
    return report.lines.isEmpty ? .nothingToDo : .done
  }
}
