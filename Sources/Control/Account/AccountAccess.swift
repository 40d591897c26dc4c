import CommandLineTool
import Endpoint
import HTTPTransfer
import Queue
import Support

/// The endpoint, and the account by which it is called.
struct AccountAccess: Sendable {
  let client: ModelClient
  let credentials: Credentials
  /// The user here whose account it is; nil for nobody.
  let user: String?
  let session: ControlSession

  /// Takes over what the endpoint says of the account, where it is somebody's here, and says what differed.
  ///
  /// - Parameter plan: Whether the user gets the plan that is called as the subscription: what bills is changed by a
  ///   command that names it, and by no other.
  func takeOver(
    _ account: EndpointUser, _ status: SubscriptionStatus? = nil, plan: Bool, dry: Bool = false
  ) async throws -> [UserChange] {
    guard let user else { return [] }
    var record = UserRecord(user)
    record.name = account.name
    record.email = account.email
    record.plan = plan ? account.subscription.rawValue : nil
    record.subscription = account.subscription.rawValue
    record.analysisCount = account.analysisCount ?? status?.analysisCount
    record.lastResetDate = account.lastResetDate ?? status?.lastResetDate
    if !plan, let here = try await UserDirectory(session.database).show(user)?.plan,
      here != record.subscription
    {
      session.console.say(
        "The plan of \(printable(user)) is \(printable(here)) here and \(account.subscription.rawValue) at the "
          + "endpoint: analysisctl account sync changes it.")
    }
    return try await UserDirectory(session.database).change(record, dry: dry, by: session.actor)
  }
}

extension ControlContext {
  /// Runs a command's body with the endpoint that is named, and with the database where it has to be asked.
  ///
  /// - Parameters:
  ///   - user: The user here whose account it is, who has to be there; nil for nobody.
  ///   - asksDatabase: Whether the database is asked though no user is named.
  func withAccount(
    user: String? = nil, asksDatabase: Bool = false,
    _ body: @escaping @Sendable (AccountAccess) async throws -> ExitCode
  ) async throws -> ExitCode {
    let path = try self[EndpointOptions.workerConfiguration]
    let settings = try path.map(GivenSettings.read)
    let named = try EndpointSettings(
      EndpointOptions.named(self), settings, environment: environment)
    let (endpoint, transfer, credentials) = try await account(of: named)
    let isDatabaseGiven = values.source(of: CommonOptions.database) == .commandLine
    let needsDatabase = asksDatabase || user != nil
    return try await withSession(
      schema: needsDatabase ? .compatible : .nothing,
      database: isDatabaseGiven ? nil : try settings?.database()
    ) { session in
      if let user { _ = try await UserDirectory(session.database).required(user) }
      let http = HTTPClient(loop: session.loop, configuration: transfer)
      let client = ModelClient(endpoint: endpoint, http: http, credentials: { credentials })
      let access = AccountAccess(client: client, credentials: credentials, user: user, session: session)
      let outcome: Result<ExitCode, any Error>
      do { outcome = .success(try await body(access)) } catch { outcome = .failure(error) }
      await http.close()
      return try outcome.get()
    }
  }

  private func account(
    of settings: EndpointSettings
  ) async throws -> (Endpoint, HTTPTransfer.Configuration, Credentials) {
    guard let endpoint = settings.endpoints.first else {
      throw CommandFailure.usage(
        "no endpoint is named", advice: "Name it with --endpoint, or a worker's file with --worker-config.")
    }
    guard settings.endpoints.count == 1 else {
      throw CommandFailure.usage(
        "the worker's file names several endpoints", advice: "Say with --endpoint which one is meant.")
    }
    let file = try file(settings.credentials, "--credentials")
    guard let file else {
      throw CommandFailure.usage(
        "no account is named", advice: "Name its file with --credentials: email = … and password = …")
    }
    let certificate = try self.file(settings.certificate, "--endpoint-certificate")
    let environment = environment
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      var transfer = settings.transfer
      if let certificate {
        let read = try ClientCertificate.read(certificate, environment: environment)
        transfer.clientIdentity = ClientIdentity(pem: read.pem.bytes)
      }
      return (transfer, try Credentials.read(file, environment: environment))
    }
    let (transfer, credentials) = try await reading.value
    return (endpoint, transfer, credentials)
  }

  private func file(_ use: SecretUse, _ option: String) throws -> String? {
    switch use {
    case .none: return nil
    case .file(let path): return path
    case .managed(let name):
      throw CommandFailure.usage(
        "the service manager gives the credential \(printable(name)) to the worker alone",
        advice: "Name the file behind it with \(option), as a user who may read it.")
    }
  }
}

extension UserDirectory {
  /// Takes over what is said of a user who is there, and says what differed.
  ///
  /// - Throws: `CommandFailure` with `refused`, and why, where nothing was changed.
  func change(
    _ record: UserRecord, dry: Bool = false, by actor: AuditActor
  ) async throws -> [UserChange] {
    switch try await take([record], adding: false, dry: dry, by: actor).first {
    case .updated(let changes): return changes
    case .refused(let reason):
      throw CommandFailure(.refused, "user \(printable(record.reference)) was not changed: \(reason)")
    case .created, .unchanged, nil: return []
    }
  }

  /// All that is kept of a user.
  ///
  /// - Throws: `notFound` for an unknown user.
  func required(_ user: String) async throws -> UserDetail {
    guard let detail = try await show(user) else {
      throw CommandFailure(
        .refused, "there is no user \(printable(user))", advice: "Look with analysisctl users list.")
    }
    return detail
  }
}

/// An account at the endpoint, and what it changed of the user here.
struct AccountResponse: Sendable, Equatable, Presentable {
  let account: EndpointUser
  /// What was done to it, for instance `registered`; nil where it was only looked at.
  var done: String?
  /// Whether the name and the e-mail address are shown.
  var showsPerson = false
  /// The user here whose account it is; nil for nobody.
  var user: String?
  /// What differed here and was taken over.
  var changes: [UserChange] = []
  /// What the endpoint allows a month; nil when it does not say.
  var status: SubscriptionStatus?

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "account", value: .string(account.id)),
      .init(name: "subscription", value: .string(account.subscription.rawValue)),
      .init(name: "analysis_count", value: .count(account.analysisCount ?? status?.analysisCount)),
      .init(name: "last_reset", value: .time(account.lastResetDate ?? status?.lastResetDate)),
      .init(name: "done", value: .text(done)), .init(name: "user", value: .text(user)),
      .init(name: "changes", value: changes.json),
    ]
    if showsPerson {
      members.append(.init(name: "name", value: .text(account.name)))
      members.append(.init(name: "email", value: .string(account.email)))
    }
    return .object(members)
  }

  func text(width: Int?, paint: Paint) -> String {
    let count = account.analysisCount ?? status?.analysisCount
    let facts = Facts([
      ("account", account.id), ("done", done), ("subscription", account.subscription.shown),
      ("analyses counted", count.map(String.init)),
      ("count began", Moment.short(account.lastResetDate ?? status?.lastResetDate)),
      ("name", showsPerson ? account.name : nil), ("e-mail", showsPerson ? account.email : nil),
    ])
    return facts.text + changes.text(of: user)
  }
}

extension [UserChange] {
  /// For programs: each with what it was and is.
  var json: JSONValue {
    .array(map { ["field": .string($0.field), "was": .text($0.was), "is": .text($0.becomes)] })
  }

  /// A line for each: `plan of u1: free, now premium`.
  func text(of user: String?, _ verb: String = "now") -> String {
    guard let user else { return "" }
    return map { change in
      let (was, becomes) = (change.was ?? "nothing", change.becomes ?? "nothing")
      let values = change.field == "photo" ? "changed" : "\(printable(was)), \(verb) \(printable(becomes))"
      return "\(change.field.replacing("_", with: " ")) of \(printable(user)): \(values)\n"
    }.joined()
  }
}

extension Subscription {
  /// As the plan of the same name is shown.
  var shown: String {
    switch self {
    case .free: "Basic (free)"
    case .premium: "Premium (premium)"
    }
  }
}
