import HTTPServing
import PostgreSQL
import Queue
import Support
import Synchronization

/// How readers log in with a login of the database and its password. The database alone judges both, on connections of
/// that login.
final class DatabaseLogins: Sendable {
  /// Connections of a login: one for a page, one for what is read meanwhile.
  private static let connections = 2
  /// How long a connection of a login lives at most. Then the database judges the login anew, and nothing is left of who
  /// reads no more.
  static let connectionAge = Duration.seconds(30)
  /// How many passwords are tried at once, each by a connection.
  private static let mostTries = 4
  /// PostgreSQL cuts a longer name off, and would take it for another one.
  private static let longestName = 63

  /// Whether browsers come by TLS, which another program ends.
  let isBehindTLS: Bool
  private let database: ConnectionPool
  private let context: @Sendable (ConnectionPool) async throws -> DashboardContext
  private let warn: @Sendable (String) -> Void
  private let tries = Mutex(0)
  /// Who goes on guessing a login at one address keeps nobody out at another.
  private let byReader = RateLimit<[String]>(eachMinute: 6)
  private let byAddress = RateLimit<String>(eachMinute: 30)
  private let byLogin = RateLimit<String>(eachMinute: 60)

  /// - Parameters:
  ///   - database: Where logins log in.
  ///   - context: What pages work with, as the login of a pool.
  ///   - warn: Reports what only an operator can mend.
  init(
    isBehindTLS: Bool, _ database: ConnectionPool, warn: @escaping @Sendable (String) -> Void = { _ in },
    context: @escaping @Sendable (ConnectionPool) async throws -> DashboardContext
  ) {
    self.isBehindTLS = isBehindTLS
    self.database = database
    self.warn = warn
    self.context = context
  }

  /// Refuses a browser whose passwords others could read on their way.
  func checkWay(_ request: HTTPRequest) throws(PageFailure) {
    let said = request.headers.all("x-forwarded-proto").map { $0.lowercased() }
    guard said != (isBehindTLS ? ["https"] : []) else { return }
    throw PageFailure(
      status: 403, title: "No password by this way",
      message: isBehindTLS
        ? "The proxy does not say that this browser came by HTTPS, so others might read a password."
        : "A proxy passes this on, and others might read a password on its way.",
      advice: isBehindTLS
        ? "Open this page by https://. Where that is done, have the proxy set the header X-Forwarded-Proto to https."
        : "Have browsers reach the proxy by HTTPS, and start analysisctl serve with --behind-tls.")
  }

  /// The pages of a login whose password is right.
  ///
  /// - Throws: The same whatever is wrong with the two; something else where too many were wrong, or nobody can judge.
  func open(
    _ name: String, _ password: Secret, for request: HTTPRequest, at now: ContinuousClock.Instant
  ) async throws(PageFailure) -> DashboardContext {
    // libpq takes a text up to its zero byte, and for an empty one whatever it finds elsewhere.
    let isEmpty = password.reveal().isEmpty || password.bytes.contains(0)
    guard !name.isEmpty, name.utf8.count <= Self.longestName, !name.utf8.contains(0), !isEmpty else {
      throw Self.wrong
    }
    // The proxy has put the last part there itself.
    let address = request.headers.all("x-forwarded-for").last?.split(separator: ",").last ?? ""
    let client = String(String.UnicodeScalarView(address.unicodeScalars.suffix(64)))
    if let wait = byAddress.take(1, client, at: now) ?? byReader.take(1, [client, name], at: now)
      ?? byLogin.take(1, name, at: now)
    {
      throw Self.tooMany(wait)
    }
    let isTried = tries.withLock { tries in
      guard tries < Self.mostTries else { return false }
      tries += 1
      return true
    }
    defer { if isTried { tries.withLock { $0 -= 1 } } }
    let outcome = isTried ? await judge(name, password) : .failure(Self.unjudged)
    if case .failure(let failure) = outcome, failure.status == Self.wrong.status { throw failure }
    byAddress.giveBack(1, client)
    byReader.giveBack(1, [client, name])
    byLogin.giveBack(1, name)
    return try outcome.get()
  }

  private func judge(_ name: String, _ password: Secret) async -> Result<DashboardContext, PageFailure> {
    var configuration = database.configuration
    configuration.login = (name, password)
    let pool = ConnectionPool(
      configuration, on: database.loop, size: Self.connections, longestLife: Self.connectionAge)
    var failure = Self.wrong
    do {
      if Self.mayRead(try await DatabaseLogin.read(pool)) { return .success(try await context(pool)) }
    } catch {
      let said = PostgreSQLError.within(error)
      // What the server says names the login; what stands in the way of every login does not.
      if let said, said.sqlState == nil, said.code == .connectionFailed {
        warn("warning: readers cannot log in at the dashboard: \(said)")
      }
      if said?.phase != .authentication { failure = Self.unjudged }
    }
    await pool.close()
    return .failure(failure)
  }

  /// Whether the database still lets a login in, with a role that reads pages.
  func stillLetsIn(_ context: DashboardContext) async -> Bool {
    do {
      let login = try await context.login(noOlderThan: Self.connectionAge)
      // One that is renamed is another one.
      return login.name == context.login && Self.mayRead(login)
    } catch {
      return PostgreSQLError.within(error)?.phase != .authentication
    }
  }

  private static func mayRead(_ login: DatabaseLogin) -> Bool {
    login.has(anyOf: CommandRoles.roles(for: "serve"))
  }

  private static let wrong = PageFailure(
    status: 403, title: "Not logged in",
    message: "The login or the password is wrong, or the login may not read the dashboard.",
    advice: "Enter both once more. An administrator of the database sets passwords and grants roles.")

  private static let unjudged = PageFailure(
    status: 503, title: "Nobody can log in now",
    message: "The database does not judge the password at this moment.",
    advice: "Try again in a moment; where that does not help, look at what analysisctl serve has said.")

  private static func tooMany(_ wait: Duration) -> PageFailure {
    PageFailure(
      status: 429, title: "Too many attempts",
      message: "Too many logins or passwords were wrong. None is looked at now.",
      advice: "Try again in \(Moment.age(wait.inSeconds.rounded(.up))).")
  }
}
