import CommandLineTool

/// `analysisctl keys list`.
enum KeysListCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "list", abstract: "Show the keys, and how many images are under each.",
      discussion: """
        The images are counted in the database, which takes its time where there are millions. Keys that images name \
        and the file lacks are shown too: the jobs of such images wait.
        """,
      examples: [
        Example("analysisctl keys list --key-file /etc/analysis/image.keys", "The keys of a file."),
        Example("analysisctl keys list --key-file /etc/analysis/image.keys --json", "For a program."),
      ],
      exitCodes: [.done, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      let ring = try await KeyFileOption.readRequired(context)
      return try await context.withSession(dependencies) { session in
        let response = try await KeysListInteractor(database: session.database).answer(ring)
        try session.view.show(response, by: KeysListPresenter.self)
        return .done
      }
    }
  }
}
