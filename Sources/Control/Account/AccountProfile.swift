import CommandLineTool
import Endpoint
import Support

/// `analysisctl account profile`.
enum AccountProfileCommand {
  static let email = Option<String?>(
    "email", .string, help: "The account's e-mail address, by which it logs in from then on.")
  static let birthday = Option<String?>(
    "birthday", .any, valueName: "YYYY-MM-DD", help: "The day of birth; kept here alone.")
  static let address = Option<String?>("address", .any, help: "The postal address; kept here alone.")
  static let gender = Option<String?>(
    "gender", .any,
    help:
      "The gender, in a word of the person's own choosing; kept here alone, and nothing is computed from it.")
  static let photo = Option<String?>(
    "photo", .string, valueName: "url",
    help: "The photo's https address, or - to read it from standard input; kept here alone.")
  static let removePhoto = Flag("remove-photo", help: "Say that there is no photo any more.")

  static let command = ControlCommand(
    "profile", abstract: "Show who an account is of, or change it.",
    discussion: """
      \(AccountCommand.credentials)

      Without an option that changes something it shows the account at the endpoint. Name and e-mail address are \
      changed there, and with --user here too.

      Birthday, address, gender and photo are of the user here (--user): the endpoint has no place for them, and is \
      not asked where nothing else is changed. An empty value removes one: --gender "". A photo takes the place of \
      the one before; where --url-cache and --key-file name a folder of images its copy there is fetched anew.
      """,
    examples: [
      Example("analysisctl account profile --worker-config worker.conf", "Show it."),
      Example(
        "analysisctl account profile --user u1 --worker-config worker.conf --name Ann",
        "Change the name there and here."),
      Example(
        "analysisctl account profile --user u1 --birthday 1980-05-31 --gender x",
        "Change what is kept here alone."),
    ],
    inputs: EndpointOptions.all + [
      AccountCommand.name, email, birthday, address, gender, photo, removePhoto,
    ] + PhotoChange.inputs + [AccountCommand.user, ReasonOption.reason],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let wanted = try await Wanted(context)
    guard wanted.asksEndpoint else {
      return try await context.withSession { session in
        try await finish(AccountProfileResponse(), wanted, session)
      }
    }
    return try await context.withAccount(user: wanted.user) { access in
      let account: EndpointUser
      var changes: [UserChange] = []
      if wanted.name == nil, wanted.email == nil {
        account = try await access.client.profile()
      } else {
        let changed = try await access.client.updateProfile(name: wanted.name, email: wanted.email)
        // It is changed, and the answer may not describe it.
        account = if let changed { changed } else { try await access.client.profile() }
        changes = try await access.takeOver(account)
        if let email = wanted.email, email != access.credentials.email {
          access.session.console.say(
            "The credentials file has the former e-mail address: write the new one into it before the next log-in."
          )
        }
      }
      let response = AccountResponse(
        account: account, showsPerson: true, user: wanted.user, changes: changes)
      return try await finish(AccountProfileResponse(account: response), wanted, access.session)
    }
  }

  /// Changes what is kept here alone, and shows all.
  private static func finish(
    _ response: AccountProfileResponse, _ wanted: Wanted, _ session: ControlSession
  ) async throws -> ExitCode {
    var response = response
    if let user = wanted.user {
      if let record = wanted.record {
        response.user = user
        response.changes = try await UserDirectory(session.database).change(record, by: session.actor)
      }
      response.photo = try await wanted.photo?.make(of: user, session)
    }
    try session.view.show(response)
    return response.exitCode
  }

  /// What a command line asks for.
  private struct Wanted: Sendable {
    let user: String?
    let name: String?
    let email: String?
    /// What is kept here alone; nil for nothing.
    let record: UserRecord?
    let photo: PhotoChange?

    init(_ context: ControlContext) async throws {
      user = try context[AccountCommand.user]
      name = try context[AccountCommand.name]
      email = try context[AccountProfileCommand.email]
      var record = UserRecord(user ?? "")
      record.birthday = try context[birthday]
      record.address = try context[address]
      record.gender = try context[gender]
      self.record = record == UserRecord(record.reference) ? nil : record
      let (given, isRemoved) = (try context[AccountProfileCommand.photo], try context[removePhoto])
      if given != nil, isRemoved {
        throw CommandFailure.usage("--photo and --remove-photo cannot be given together")
      }
      if user == nil, self.record != nil || given != nil || isRemoved {
        throw CommandFailure.usage(
          "birthday, address, gender and photo are kept here, and no user is named",
          advice: "Name the user with --user.")
      }
      photo = given != nil || isRemoved ? try await PhotoChange(given, context) : nil
    }

    var asksEndpoint: Bool { name != nil || email != nil || record == nil && photo == nil }
  }
}

/// An account, and what was changed of a user here.
struct AccountProfileResponse: Sendable, Equatable, Presentable {
  /// Nil where the endpoint was not asked.
  var account: AccountResponse?
  var user: String?
  var changes: [UserChange] = []
  var photo: PhotoResponse?

  var exitCode: ExitCode { photo?.exitCode ?? .done }

  var json: JSONValue {
    [
      "account": account?.json ?? .null, "user": .text(user), "changes": changes.json,
      "photo": photo?.json ?? .null,
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let text = [
      account?.text(width: width, paint: paint), changes.text(of: user),
      photo?.text(width: width, paint: paint),
    ].compactMap { $0 }.joined()
    return text.isEmpty ? "Nothing differs.\n" : text
  }
}
