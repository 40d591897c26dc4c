import Administration
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl erase`.
enum EraseCommand {
  static let user = Option<String?>("user", .string, help: "Whom: what you call the user.")
  static let number = Option<Int?>(
    "number", .int(in: 1...Int.max),
    help: "Whom, when they have no other name any more: the number of a receipt or the audit.")
  static let cancel = Flag(
    "cancel-open",
    help: "Cancel their jobs that have not ended; what a worker finds in a running one is dropped.")
  static let dryRun = Flag("dry-run", help: "Say what would be removed, and remove nothing.")
  static let receipt = Option<String?>("receipt", .path, help: "Write the receipt to this file too, as JSON.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "erase", abstract: "Remove everything that is kept of a person.",
      discussion: """
        Images, results, the causes of failures, file names, keys, profile and photo go at once and for good. What \
        stays are counts under a number: where a bill said whose they were it says erased-17, in closed months too. \
        While jobs of theirs are open nothing is done, and the exit code is 75, unless they are to be cancelled.

        The receipt says what went, and where the audit tells of it. It alone still names the person: keep it where \
        such things are kept. Not reached are backups, the server's write-ahead log and files that were written \
        before, as reports and exports are.

        A photo that this machine has in the folder of --url-cache goes too, which needs --key-file, and the receipt \
        says whether it did, was not there or could not be looked for. What other machines have of it, a photo that \
        was replaced and pictures that were submitted by URL stay there, encrypted, until they are a day old and \
        analysisctl purge or a fetch runs there.
        """,
      examples: [
        Example("analysisctl erase --user u1 --dry-run", "See what there is."),
        Example(
          "analysisctl erase --user u1 --receipt u1.json --reason request-114",
          "Erase, and keep the receipt."),
      ],
      inputs: [
        user, number, cancel, dryRun, receipt, ReasonOption.reason, RemoteImageOptions.keptCache,
        KeyFileOption.path,
      ],
      exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      let person: PersonEraser.Person
      switch (try context.values[user], try context.values[number]) {
      case (let user?, nil): person = .reference(user)
      case (nil, let number?): person = .number(Int64(number))
      case (nil, nil): throw ControlError.usage("nobody is named", advice: "Name the person with --user.")
      default: throw ControlError.usage("a person is named twice", advice: "Give either --user or --number.")
      }
      let request = EraseRequest(
        person: person, isCancelling: try context.values[cancel], isDry: try context.values[dryRun],
        receipt: try context.values[receipt], reason: try context.values[ReasonOption.reason])
      let folder = try context.values[RemoteImageOptions.keptCache]
      // What is wrong with the file is found before anything is gone.
      let photos = PhotoRemover(
        folder: folder, keys: folder == nil ? nil : try await KeyFileOption.read(context))
      return try await context.withSession(dependencies) { session in
        let response = try await EraseInteractor(session: session, photos: photos).answer(request)
        try session.view.show(response, by: ErasePresenter.self)
        return response.erasure.open > 0 ? .tryLater : .done
      }
    }
  }
}
