import CommandLineTool
import Images
import PostgreSQL
import Queue
import Support

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
      fetched into it, also where the address is the same; if it cannot be fetched, or is no picture, the exit code \
      is 4. Without them nothing is fetched, and a message says that nobody has looked. A name may have several parts \
      with slashes between them; all but letters, digits and -._~ is escaped in the address.
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

/// What shows who a user is: name, photo, and the logos of the clinic.
///
/// It shows itself nowhere: whoever has the photo's address may have the photo.
struct UserAppearance: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable, RenamedColumns
{
  static let columns = ["reference": "user"]

  /// What the operator calls the user.
  let reference: String
  let name: String?
  /// Where the photo is.
  let photoURL: String?
  /// The user's clinic, and what it is.
  let clinic: String?
  /// What the clinic is.
  let kind: ClinicKind?
  /// The SHA-256 of the clinic's logos.
  let logo, pharmacyLogo: String?

  /// The picture that stands for the user: the address of the photo, or the SHA-256 of a logo.
  var picture: UserPicture<String, String> { picture(photo: photoURL) }

  /// The picture that stands for the user, where the photo is as given.
  func picture<Photo>(photo: Photo?) -> UserPicture<Photo, String> {
    UserPicture(photo: photo, kind: kind, logo: logo, pharmacyLogo: pharmacyLogo, name: name ?? reference)
  }

  var description: String { reference }
  var debugDescription: String { reference }
  /// Shows the user alone to `dump` and to a debugger's printing.
  var customMirror: Mirror { Mirror(self, children: ["reference": reference]) }
}

extension UserDirectory {
  /// What shows who users are, by their references; whom the login does not see is left out.
  func appearances(of users: [String]) async throws(JobQueueError) -> [String: UserAppearance] {
    let byShard = Dictionary(grouping: try await shards.shards(of: users)) { $0.value }
    let statements = byShard.map { shard, users in
      Statement(
        SQLFunction("user_pictures", 2), [.int16(shard), .array(users.map(\.key))],
        as: [UserAppearance].self, while: "reading who users are")
    }
    let found = try await database.run(statements).flatMap { $0 }
    return Dictionary(found.map { ($0.reference, $0) }) { first, _ in first }
  }
}

/// Says where a user's photo is, and has this machine's copy be the picture that is there now: under the same address
/// there may be another one than before.
struct PhotoChange: Sendable {
  /// The photo's address; nil for none.
  let address: String?
  private let remote: RemoteImageArguments
  private let keys: KeyRing?

  /// The options that a command of it takes.
  static let inputs: [any Input] = [
    RemoteImageOptions.hosts, RemoteImageOptions.photoBase, RemoteImageOptions.cache,
    RemoteImageOptions.cacheSize,
    KeyFileOption.path,
  ]

  /// Checks an address, before anything is asked of the database.
  ///
  /// - Parameter given: The address or the name below `--photo-base`, or - for standard input; nil to remove the photo.
  init(_ given: String?, _ context: ControlContext) async throws {
    remote = try RemoteImageArguments(context)
    keys = try await KeyFileOption.read(context)
    guard let given else {
      address = nil
      return
    }
    guard remote.isOn else { throw remote.off }
    let photo = given == "-" ? try await context.dependencies.address() : given
    do {
      address = try (try context[RemoteImageOptions.photoBase]).address(
        of: photo, among: remote.hosts, in: context.dependencies.network)
    } catch let fault as PhotoBase.Fault {
      throw CommandFailure(.refused, "the photo's name \(fault.message)")
    }
  }

  func make(of user: String, _ session: ControlSession) async throws -> PhotoResponse {
    if address != nil { try await session.require(.imagesByURL, of: .user(user)) }
    let users = UserDirectory(session.database)
    let before = try await users.required(user).profile?.photoURL
    try await users.setPhoto(user, url: address)
    var response = PhotoResponse(
      user: user, host: address.flatMap { RemoteAddress.host(of: $0) }, isReplaced: before != nil, copy: nil)
    guard remote.cache != nil, keys != nil else {
      if address != nil {
        session.view.sayUnlessJSON(
          "Nobody has looked whether it is a picture: that takes --url-cache and --key-file.")
      }
      return response
    }
    let remover = PhotoRemover(folder: remote.cache, keys: keys)
    for former in Set([before, address].compactMap { $0 }) {
      if let reason = await remover.remove(former, isDry: false).reason {
        session.console.say("The copy on this machine was \(printable(reason))")
      }
    }
    if let address {
      response.copy = try await remote.withCache(session, keys: keys) { cache in
        do {
          if let bytes = try await cache?.image(at: address) {
            _ = try await PictureFile.clean(bytes, ServeCommand.photoLimits)
          }
          return .fetched
        } catch let error as RemoteImageError {
          return .failed(error.message)
        } catch let refusal as ImageRefusal {
          _ = await remover.remove(address, isDry: false)
          return .failed("What is there is no picture. \(refusal.message)")
        }
      }
    }
    return response
  }
}

/// A photo that was set or removed. Of its address only the host is named.
struct PhotoResponse: Sendable, Equatable, Presentable {
  /// This machine's copy of the picture.
  enum Copy: Sendable, Equatable {
    case fetched
    case failed(String)
  }

  let user: String
  /// Nil for no photo.
  let host: String?
  /// Whether there was one before.
  let isReplaced: Bool
  /// Nil where none is kept.
  var copy: Copy?

  /// Whether the copy is the picture that is there now, or need not be.
  var exitCode: ExitCode { if case .failed = copy { .refused } else { .done } }

  private var outcome: String {
    switch (host != nil, isReplaced) {
    case (true, true): "replaced"
    case (true, false): "created"
    case (false, true): "removed"
    case (false, false): "unchanged"
    }
  }

  /// With `from`, as the answers of the other commands that set something of a user.
  var json: JSONValue {
    let copy: (String?, String?) =
      switch self.copy {
      case .fetched: ("fetched", nil)
      case .failed(let reason): ("failed", reason)
      case nil: (nil, nil)
      }
    return [
      "user": .string(user), "photo": .string(host ?? "none"), "from": .null, "outcome": .string(outcome),
      "copy": .text(copy.0), "message": .text(copy.1),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let line = "photo of \(printable(user)): \(printable(host ?? "none"))\n"
    guard case .failed(let reason) = copy else { return line }
    return line + "\(paint.red("not fetched")) into the folder of --url-cache: \(printable(reason))\n"
  }
}
