import Administration
import CommandLineTool
import RemoteImages

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
      The photo is not fetched now, only its host looked at, which must be one of --url-hosts. No command shows \
      more of the address than the host. A name may have several parts with slashes between them; all but letters, \
      digits and -._~ is escaped in the address.
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
    inputs: [remove, RemoteImageOptions.hosts, RemoteImageOptions.photoBase, UsersCommand.user, url],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    let address = try await address(context)
    return try await context.withSession { session in
      try await UserDirectory(session.database).setPhoto(user, url: address)
      let host = address.flatMap { RemoteAddress.host(of: $0) } ?? "none"
      try session.view.show(UsersSetResponse(user: user, name: "photo", value: host, from: nil))
      return .done
    }
  }

  /// The address, checked; nil for none.
  private static func address(_ context: ControlContext) async throws -> String? {
    let given = try context[url]
    if try context[remove] {
      guard given == nil else {
        throw CommandFailure.usage("an address and --remove cannot be given together")
      }
      return nil
    }
    guard let given else { throw CommandFailure.usage("neither an address nor --remove is given") }
    let hosts = try context[RemoteImageOptions.hosts]
    try context.product?.require(.imagesByURL)
    guard !hosts.isEmpty else { throw RemoteImageArguments.notEnabled }
    let photo = given == "-" ? try await context.dependencies.address() : given
    do {
      return try (try context[RemoteImageOptions.photoBase]).address(of: photo, among: hosts)
    } catch let fault as PhotoBase.Fault {
      throw CommandFailure(.refused, "the photo's name \(fault.message)")
    }
  }
}
