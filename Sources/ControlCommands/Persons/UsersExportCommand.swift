import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl users export`.
enum UsersExportCommand {
  static let folder = Option<String?>(
    "out", .path, help: "The folder to make for it; it must not be there yet.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "export", abstract: "Give a person what is kept of them.",
      discussion: """
        Makes a folder of mode 0700 with data.json (account, profile, plans, use of each month, and every job with \
        its analysis and its failed attempts) and the folder images with every image that is kept, decrypted. \
        data.json names each image's file. The folder appears whole or not at all.

        Every export, and the numbers of the images that were read for it, are in the audit.
        """,
      examples: [
        Example(
          "analysisctl users export u1 --out u1 --key-file image.keys",
          "Everything of a user.")
      ],
      inputs: [UsersCommand.user, folder, KeyFileOption.path, ReasonOption.reason],
      exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      let user = try context.values[UsersCommand.user]
      guard let folder = try context.values[folder] else {
        throw ControlError.usage("there is nowhere to write to", advice: "Name a folder with --out.")
      }
      let reason = try context.values[ReasonOption.reason]
      let keys = try await KeyFileOption.read(context)
      return try await context.withSession(dependencies) { session in
        let interactor = UsersExportInteractor(
          database: session.database, keys: keys, actor: session.actor(reason))
        let response = try await interactor.answer(user, folder: folder)
        try session.view.show(response, by: UsersExportPresenter.self)
        return .done
      }
    }
  }
}

/// Says what was exported.
enum UsersExportPresenter: Presenter {
  static func json(_ response: UsersExportResponse) -> JSONValue {
    [
      "user": .string(response.user), "folder": .string(response.folder), "jobs": .count(response.jobs),
      "images": .count(response.images),
    ]
  }

  static func text(_ response: UsersExportResponse, width: Int?, paint: Paint) -> String {
    "\(response.jobs) jobs and \(response.images) images of \(printable(response.user)) are in "
      + "\(printable(response.folder))\n"
  }
}
