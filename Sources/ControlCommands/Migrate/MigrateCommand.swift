import CommandLineTool

/// `analysisctl migrate`.
enum MigrateCommand {
  static let rolePrefix = Option<String?>(
    "role-prefix", .string,
    help:
      "With what the names of the database's roles begin, for another installation on the same server. It is set by "
      + "the first migration and kept.")
  static let dryRun = Flag("dry-run", help: "Print the SQL that would be run, and run none of it.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "migrate", abstract: "Make the database's schema, or bring it up to date.",
      discussion: """
        Each step is a transaction of its own; a run that is broken off is carried on by the next, and two at \
        once are safe. A migration that was edited after it had been applied is refused. A step waits 2 s at most for a \
        lock, since others wait behind it; then it says who has it, lets them through and tries again, for an hour.

        The roles of the installation (analysis_owner, analysis_worker and so on) are made too. They belong to the whole \
        server, and an ordinary login may not make them: then it says what an administrator has to run once.
        """,
      examples: [
        Example("analysisctl migrate", "Apply what is missing."),
        Example("analysisctl migrate --dry-run", "Read it first."),
      ],
      inputs: [rolePrefix, dryRun],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let request = MigrateRequest(
        isDryRun: try context.values[dryRun], rolePrefix: try context.values[rolePrefix])
      return try await context.withSession(dependencies, schema: .none) { session in
        let response = try await MigrateInteractor(database: session.database).answer(request) { wait in
          session.console.say(MigratePresenter.words(of: wait))
        }
        try session.view.show(response, by: MigratePresenter.self)
        return .done
      }
    }
  }
}
