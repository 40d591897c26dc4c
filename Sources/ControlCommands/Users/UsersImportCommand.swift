import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl users import`.
enum UsersImportCommand {
  static let file = Argument(
    optional: "file", .path, help: "The file with the answers; standard input unless given, or for -.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "import", abstract: "Add or update users from the endpoint's profile answers.",
      discussion: """
        Reads a JSON profile answer ({"user": {…}}), a bare user, an array of them, or a line of JSON for each. \
        The id becomes the user's name here and the subscription their plan. An answer that is refused does not \
        stop the others, and the exit code is 4. A photo's address (photoUrl) is taken where --url-hosts allows its \
        host, and passed over where nothing may be fetched by URL.
        """,
      examples: [
        Example("analysisctl users import profile.json", "One answer."),
        Example("analysisctl users import < profiles.jsonl", "Many, a line each."),
      ],
      inputs: [RemoteImageOptions.hosts, ReasonOption.reason, file],
      exitCodes: [.done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater]
    ) { context in
      let (path, reason) = (try context.values[file], try context.values[ReasonOption.reason])
      let hosts = try context.values[RemoteImageOptions.hosts]
      let reading = Task(executorPreference: globalConcurrentExecutor) {
        try path.flatMap { $0 == "-" ? nil : try InputFile.readText($0, limit: Manifest.limit) }
          ?? dependencies.standardInput(Manifest.limit)
      }
      let entries = ProfileFile.entries(try await reading.value)
      return try await context.withSession(dependencies) { session in
        let interactor = UsersImportInteractor(
          database: session.database, photoHosts: hosts, actor: session.actor(reason))
        let response = try await interactor.answer(entries)
        try session.view.show(response, by: UsersImportPresenter.self)
        return response.exitCode
      }
    }
  }
}
