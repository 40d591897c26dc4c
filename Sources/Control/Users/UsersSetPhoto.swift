import CommandLineTool

/// `analysisctl users set-photo`.
enum UsersSetPhotoCommand {
  static let url = Argument(
    optional: "url", .string,
    help:
      "The photo's https address, its name below --photo-base, or - to read either from standard input, where "
      + "other users of this machine cannot see it.")
  static let remove = Flag("remove", help: "Say that there is none any more.")

  static let command = ControlCommand(
    "set-photo", abstract: "Set where a user's photo is.",
    discussion: """
      The address' host must be one of --url-hosts. No command shows more of the address than the host. Where \
      --url-cache and --key-file name a folder of images, what it has of the former photo goes, and the new one is \
      fetched into it, also where the address is the same; if it cannot be fetched the exit code is 4. Without them \
      nothing is fetched now. A name may have several parts with slashes between them; all but letters, digits and \
      -._~ is escaped in the address.
      """,
    examples: [
      Example(
        "analysisctl users set-photo u1 https://img.example.org/u1.jpg",
        "A photo, where --url-hosts allows its host."),
      Example(
        "analysisctl users set-photo u1 demoK25_2025-06-24_11:41:27.png",
        "By its name, where the configuration file has photo-base."),
      Example("analysisctl users set-photo u1 - < address.txt", "One whose address is a secret."),
      Example("analysisctl users set-photo u1 --remove", "None."),
    ],
    inputs: [remove] + PhotoChange.inputs + [UsersCommand.user, url],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater]
  ) { context in
    let (user, given) = (try context[UsersCommand.user], try context[url])
    switch (given, try context[remove]) {
    case (nil, false): throw CommandFailure.usage("neither an address nor --remove is given")
    case (_?, true): throw CommandFailure.usage("an address and --remove cannot be given together")
    default: break
    }
    let photo = try await PhotoChange(given, context)
    return try await context.withSession { session in
      let response = try await photo.make(of: user, session)
      try session.view.show(response)
      return response.exitCode
    }
  }
}
