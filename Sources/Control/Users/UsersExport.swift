import CommandLineTool
import Support

/// `analysisctl users export`.
enum UsersExportCommand {
  static let folder = Option<String?>(
    "out", .path, help: "The folder to make for it; it must not be there yet.")

  static let command = ControlCommand(
    "export", abstract: "Give a person what is kept of them.",
    discussion: """
      Makes a folder of mode 0700 with data.json (account, profile, plans, use of each month, and every job with \
      its analysis and its failed attempts) and the folder images with every image that is kept, decrypted. \
      data.json names each image's file; one that cannot be read is listed as unreadable, with the reason. The folder \
      appears whole or not at all.

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
    let user = try context[UsersCommand.user]
    guard let folder = try context[folder] else {
      throw CommandFailure.usage("there is nowhere to write to", advice: "Name a folder with --out.")
    }
    let keys = try await KeyFileOption.read(context)
    return try await context.withSession { session in
      let exporter = PersonExporter(database: session.database, keys: keys, actor: try session.actor)
      let response = try await exporter.export(user, to: folder)
      try session.view.show(response)
      return response.unreadable == 0 ? .done : .refused
    }
  }
}

/// What an export came to.
struct UsersExportResponse: Sendable, Equatable, Presentable {
  let user: String
  let folder: String
  let jobs: Int
  let images: Int
  /// How many images cannot be read.
  let unreadable: Int

  var json: JSONValue {
    [
      "user": .string(user), "folder": .string(folder), "jobs": .count(jobs), "images": .count(images),
      "unreadable": .count(unreadable),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    "\(jobs) jobs and \(images) images of \(printable(user)) are in \(printable(folder))\n"
      + (unreadable == 0 ? "" : "\(unreadable) images cannot be read; data.json says why\n")
  }
}
