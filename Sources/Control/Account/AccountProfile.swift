import CommandLineTool
import Endpoint
import Queue
import Support

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
      changed there, and with --user here too. The plan here stays as it is.

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
        changes = try await access.takeOver(account, plan: false)
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

enum AccountSaveCommand {
  static let job = Argument("job", .jobID, help: "The number of an analysed job.")

  static let command = ControlCommand(
    "save", abstract: "Have the endpoint keep the analysis of a job with the account.",
    discussion: """
      \(AccountCommand.credentials)

      That the result is read, and why, is recorded first: see analysisctl audit. A repeat makes a second one at the \
      endpoint, which gives out ids of its own.
      """,
    examples: [
      Example("analysisctl account save 123 --worker-config worker.conf", "Keep one there.")
    ],
    inputs: EndpointOptions.all + [ReasonOption.reason, job],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let job = try context[job]
    return try await context.withAccount(asksDatabase: true) { access in
      let jobs = JobDirectory(access.session.database)
      guard let detail = try await jobs.show(job, by: access.session.actor) else {
        throw CommandFailure(.refused, "there is no job \(job)", advice: "Look with analysisctl jobs list.")
      }
      guard !detail.isResultHidden else {
        let login = try await DatabaseLogin.read(access.session.database)
        throw CommandFailure(
          .permission, "only a clinician's role may read what was found in job \(job)",
          advice: login.refusal(of: "it", needing: [.clinician]).advice)
      }
      guard let result = detail.result else {
        throw CommandFailure(
          .refused, "job \(job) has no analysis: it is \(detail.summary.state.rawValue)")
      }
      let receipt = try await access.client.save(try result.analysis(detail.summary.kind))
      let subscription = receipt.subscription
      return try access.session.show(
        [
          "job": .id(job), "analysis": .text(receipt.id),
          "subscription": .text(subscription?.subscription.rawValue),
          "analysis_count": .count(subscription?.analysisCount),
          "analysis_limit": .count(subscription?.analysisLimit),
          "analysis_remaining": .count(subscription?.analysisRemaining),
        ],
        Facts([
          ("job", job.description), ("analysis", receipt.id ?? "the endpoint does not say"),
          ("analyses counted", subscription?.analysisCount.map(String.init)),
          ("remaining", subscription?.analysisRemaining.map(String.init)),
        ]).text)
    }
  }
}

enum AccountSubscribeCommand {
  static let subscription = Argument(
    "subscription", .choice(Subscription.self), help: "The account's subscription from now on.")
  static let paymentToken = Option<String?>(
    "payment-token", .path,
    help: "File with the token by which it is paid, or - for standard input; it stands on no command line.")

  static let command = ControlCommand(
    "subscribe", abstract: "Change the account's subscription at the endpoint.",
    discussion: """
      \(AccountCommand.credentials)

      With --user the user here gets the plan of the same name.
      """,
    examples: [
      Example(
        "analysisctl account subscribe premium --worker-config worker.conf",
        "Subscribe; --payment-token - reads a token by which it is paid."),
      Example(
        "analysisctl account subscribe free --user u1 --worker-config worker.conf",
        "End it, and give the user here the plan free."),
    ],
    inputs: EndpointOptions.all + [
      paymentToken, AccountCommand.user, ReasonOption.reason, subscription,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let (wanted, user) = (try context[subscription], try context[AccountCommand.user])
    let token = try await token(context)
    return try await context.withAccount(user: user) { access in
      var account = try await access.client.updateSubscription(wanted, paymentToken: token)
      // It is changed, and the answer does not describe it.
      if account == nil { account = try await access.client.profile() }
      guard let account else { return .done }
      let changes = try await access.takeOver(account, plan: true)
      try access.session.view.show(
        AccountResponse(account: account, done: "subscribed", user: user, changes: changes))
      return .done
    }
  }

  private static func token(_ context: ControlContext) async throws -> Secret? {
    guard let path = try context[paymentToken] else { return nil }
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try path == "-" ? context.dependencies.standardInput(8192) : InputFile.readText(path, limit: 8192)
    }
    let text = String(decoding: try await reading.value, as: UTF8.self)
    let token = text.split(whereSeparator: \.isWhitespace)
    guard token.count == 1, let token = token.first else {
      throw CommandFailure(.unreadableInput, "the payment token is not one word")
    }
    return Secret(String(token))
  }
}
