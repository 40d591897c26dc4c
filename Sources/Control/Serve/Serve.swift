import CommandLineTool
import EventLoop
import HTTPServing
import Images
import PostgreSQL
import Queue
import Support

enum ServeCommand {
  static let listen = Option(
    "listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 8080),
    environment: "ANALYSIS_LISTEN", key: "listen", help: "Where to listen; with port 0 on any free port.")
  static let fromAnywhere = Flag(
    "listen-from-anywhere", environment: "ANALYSIS_LISTEN_FROM_ANYWHERE", key: "listen-from-anywhere",
    help:
      "Allow --listen at an address that other machines reach; nobody is asked for a password there. The dashboard "
      + "is served there only with --behind-tls, and --log-in or --token-file.")
  static let tokenFile = Option<String?>(
    "token-file", .path, environment: "ANALYSIS_TOKEN_FILE", key: "token-file",
    help:
      "File (mode 0600) with a token of at least 16 characters, which each browser shows once to read the dashboard; "
      + "a bare name is a service credential. Needs --behind-tls.")
  static let behindTLS = Flag(
    "behind-tls", environment: "ANALYSIS_BEHIND_TLS", key: "behind-tls",
    help:
      "Say that browsers reach the dashboard by HTTPS alone, through a proxy that passes on the Host header. Needs "
      + "--log-in or --token-file.")
  static let logIn = Flag(
    "log-in", environment: "ANALYSIS_LOG_IN", key: "log-in",
    help:
      "Have each reader log in with a login of the database and its password, and see and change what that login may. "
      + "Where --listen is no loopback it needs --behind-tls.")
  static let basePath = Option<String?>(
    "base-path", .basePath, environment: "ANALYSIS_BASE_PATH", key: "base-path",
    help:
      "Serve the dashboard below this path, as /queue, for a proxy that has other pages beside it and passes the path on "
      + "unchanged.")

  static let command = ControlCommand(
    "serve",
    abstract: "Serve the dashboard, the queue's metrics and its health by HTTP, until it is stopped.",
    discussion: """
      The dashboard is at /: what waits and runs, jobs, failures, batches, workers, usage, and the audit, as far as \
      the login that started this may see them. Each change is confirmed, and the audit names that login. Every user of \
      this machine can read it and act as the login. For other machines, --behind-tls is needed, and --token-file or \
      --log-in: a browser shows the token once and then has a cookie for 8 hours.

      With --log-in readers enter a login of the database and its password, and each sees, changes and is named in the \
      audit as that login. The server has to ask for the password (scram-sha-256), and the proxy to set \
      X-Forwarded-Proto to https, and X-Forwarded-For. A session ends after 30 minutes without use, with the browser, \
      by Log out, when this stops, and within a minute where the login is dropped or has another password or no role. \
      The password is kept in memory that long. There are at most 24 logins at once, with two connections each that \
      are at most 30 s old. In a minute there may be 6 wrong passwords for a login from one address, 60 for a login \
      and 30 from an address.

      The page of usage shows beside each user their photo, as far as users prefetch-photos has put it into the folder \
      of --url-cache (nothing is fetched for a page), else the logo of their clinic, else their initials. Photos and \
      initials of names are for logins that may read who users are.

      /metrics is what Prometheus reads: jobs by state, type and priority, the oldest that waits, workers, breakers, \
      dead jobs by cause, refusals, the last report, the database's size. /healthz says that the process works, and \
      /readyz whether the database answers, with 503 when it does not. No token is asked for there, and none of the \
      three names a user.

      Each login asks the database at most every 5 s, however many read. Each worker serves its own counts, see \
      analysis-worker --metrics.
      """,
    examples: [
      Example("analysisctl serve", "The dashboard at http://127.0.0.1:8080/, until Ctrl-C."),
      Example("analysisctl serve --listen [::1]:9465", "At another address."),
      Example(
        "analysisctl serve --token-file dashboard.token --behind-tls",
        "For a proxy on this machine that browsers reach by HTTPS."),
      Example("analysisctl serve --log-in --behind-tls", "The same, for many logins at one address."),
      Example("analysisctl serve --base-path /queue", "The dashboard at http://127.0.0.1:8080/queue/."),
    ],
    inputs: [
      listen, fromAnywhere, tokenFile, logIn, behindTLS, basePath, KeyFileOption.path,
      SharedOptions.imageStore, RemoteImageOptions.hosts, RemoteImageOptions.cache,
      RemoteImageOptions.cacheSize,
    ],
    exitCodes: [.done, .usage, .unreadableInput, .unreachable, .tryLater, .permission], keepsEnd: false
  ) { context in
    let address = try context[listen]
    let readers = try await readers(context, at: address)
    let basePath = try context[basePath] ?? ""
    let keys = try await KeyFileOption.read(context)
    let remote = try RemoteImageArguments(context)
    let rule = ListenRule(option: "--listen", flag: "--listen-from-anywhere")
    try rule.check(address, isAllowed: try context[fromAnywhere], context.console)
    var database = ConnectionConfiguration(try context[CommonOptions.database])
    // What open pages cost is bounded by the statement, and few are sent: none is worth the question before it is kept.
    database.keepsStatements = false
    return try await context.withSession(database: database, keepsEnd: false) { session in
      let monitor = QueueMonitor(session.database)
      try await begin(monitor, session)
      let pages = pages(monitor, session.loop).routes
      return try await ImageStoreOption.with(session) { store in
        try await remote.withCache(session, keys: keys, isNeeded: remote.cache != nil && keys != nil) {
          photos in
          let dashboard = try await dashboard(
            session, monitor, readers, basePath, { try await opened($0, keys, store) }, photos)
          let server = try rule.serve(
            address, pages + (dashboard?.routes ?? []), bounds: Dashboard.bounds, events: dashboard?.events)
          session.console.say(
            "Serving http://\(server.address)"
              + (dashboard == nil
                ? "/metrics, /healthz and /readyz." : "\(basePath)/, /metrics, /healthz and /readyz."))
          let service = ServiceNotification(environment: context.environment)
          service.ready()
          // A step of the history is ten seconds long.
          let keeper = Task {
            while (try? await Task.sleep(for: .seconds(10))) != nil {
              await monitor.keepHistory()
              await dashboard?.forgetLogins()
            }
          }
          await session.interruption.asked()
          keeper.cancel()
          service.stopping()
          await server.stop()
          await dashboard?.forgetLogins(all: true)
          return .done
        }
      }
    }
  }

  /// Reads the queue for the first time. A login that may not read it is refused now, and does not get pages without numbers;
  /// one that may see another page is served all the same.
  private static func begin(_ monitor: QueueMonitor, _ session: ControlSession) async throws {
    do {
      try await monitor.refresh()
    } catch let error as JobQueueError where error.lacksRole {
      let login = try await DatabaseLogin.read(session.database)
      guard !login.roles.isDisjoint(with: CommandRoles.roles(for: "serve")) else { throw error }
      session.console.say(
        "warning: login \(login.name) may not read the queue's status: /metrics has no numbers, and the pages that need "
          + "another role say so.")
    }
  }

  /// The dashboard; none where others reach the address and nobody is asked who reads.
  private static func dashboard(
    _ session: ControlSession, _ monitor: QueueMonitor, _ readers: Readers, _ basePath: String,
    _ openPicture: @escaping @Sendable (ExportedImage) async throws -> [UInt8], _ photos: RemoteImageCache?
  ) async throws -> Dashboard? {
    let owner = session.context.dependencies.owner()
    let decoders = ImageDecoders(slots: 1)
    let product = session.context.product
    let context = { @Sendable (database: ConnectionPool, monitor: QueueMonitor) in
      try await DashboardContext(
        database, monitor, owner: owner, reviewsRefusal: product?.refusal(of: .reviews),
        openPicture: openPicture,
        openPhoto: { url in
          guard let photo = await photos?.kept(url) else { return nil }
          // Nobody has judged yet whether it is a picture, and what else is in it.
          return try? await decoders.clean(photo, limits: Self.photoLimits).bytes
        })
    }
    let rule: Door.Rule
    switch readers {
    case .none: return nil
    case .thisMachine: rule = .thisMachine(try await context(session.database, monitor))
    case .token(let token): rule = .token(token, try await context(session.database, monitor))
    case .logins(let isBehindTLS):
      rule = .logins(
        DatabaseLogins(isBehindTLS: isBehindTLS, session.database, warn: session.console.say) {
          try await context($0, QueueMonitor($0))
        })
    }
    let logo = try await product?.picture()?.bytes
    let skin = product.map { Skin(name: $0.name, accent: $0.accent, logo: logo) } ?? .usual
    return Dashboard(rule, skin: skin, below: basePath)
  }

  /// What a photo beside a name has at most.
  static let photoLimits = ImageLimits(maxOutputBytes: 20_000, maxDimension: 96)

  /// A picture for a page, which says where it cannot be read why.
  private static func opened(
    _ picture: ExportedImage, _ keys: KeyRing?, _ store: ImageStore?
  ) async throws -> [UInt8] {
    do throws(StoredPicture.Unreadable) {
      return try await picture.opened(keys, store)
    } catch {
      throw UnreadablePicture(
        error.reason, advice: error == .withoutKeys ? "Start serve with --key-file." : nil)
    }
  }

  /// Who reads the dashboard.
  private enum Readers {
    case none
    case thisMachine
    case token(Secret)
    case logins(isBehindTLS: Bool)
  }

  private static func readers(_ context: ControlContext, at address: ListenAddress) async throws -> Readers {
    let isBehindTLS = try context[behindTLS]
    if try context[logIn] { return try logins(context, at: address, isBehindTLS) }
    guard let path = try context[tokenFile] else {
      guard !isBehindTLS else {
        throw CommandFailure.usage(
          "--behind-tls lets other machines in, and without --log-in or --token-file nobody would be asked who reads",
          advice: "Have readers log in (--log-in), or name a file with a token (--token-file).")
      }
      return address.isLoopback ? .thisMachine : .none
    }
    guard isBehindTLS else {
      throw CommandFailure.usage(
        "--token-file needs --behind-tls: without TLS everybody on the way could read the token",
        advice: "Put a proxy in front that browsers reach by HTTPS, and give --behind-tls.")
    }
    let environment = context.environment
    let secret = try await onThread { () throws(SystemError) in
      try SecretFile.read(path, environment: environment)
    }
    guard secret.reveal().utf8.count >= 16 else {
      throw CommandFailure.usage(
        "the token in \(path) is shorter than 16 characters",
        advice: "Make one: openssl rand -hex 32 > \(path)")
    }
    return .token(secret)
  }

  /// Refuses what could show a password to others: on its way here, or to the database.
  private static func logins(
    _ context: ControlContext, at address: ListenAddress, _ isBehindTLS: Bool
  ) throws -> Readers {
    guard try context[tokenFile] == nil else {
      throw CommandFailure.usage(
        "readers log in or show a token, not both", advice: "Leave out --token-file.")
    }
    guard isBehindTLS || address.isLoopback else {
      throw CommandFailure.usage(
        "--log-in at \(address) needs --behind-tls: without TLS everybody on the way could read passwords",
        advice: "Put a proxy in front that browsers reach by HTTPS, and give --behind-tls.")
    }
    guard try context[SharedOptions.databaseProof] == .verified else {
      throw CommandFailure.usage(
        "--log-in sends passwords to the database, which has to prove who it is",
        advice: "Leave out --database-proof as-given, and use sslmode=verify-full or a socket.")
    }
    return .logins(isBehindTLS: isBehindTLS)
  }

  private static func pages(_ monitor: QueueMonitor, _ loop: EventLoop) -> MonitoringPages {
    MonitoringPages(
      metrics: { await monitor.metrics() },
      loops: [loop],
      readiness: { await monitor.readiness() })
  }
}

extension ValueFormat where Value == String {
  /// The path below which pages are: `/queue`, as addresses write it without escapes.
  fileprivate static var basePath: Self {
    ValueFormat(
      name: "PATH",
      parse: { (given: String) throws(ValueError) -> String in
        let path = given.hasSuffix("/") ? String(given.dropLast()) : given
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 1, parts[0].isEmpty,
          parts.dropFirst().allSatisfy({
            !$0.isEmpty && $0 != "." && $0 != ".." && percentEncoded(String($0)) == $0
          })
        else { throw ValueError("is not a path such as /queue, of letters, digits, '-', '.', '_' and '~'") }
        guard parts.count > 2 || !["metrics", "healthz", "readyz"].contains(parts[1]) else {
          throw ValueError("is the path of another page")
        }
        return path
      },
      text: { $0 })
  }
}
