import HTTPServing
import PostgreSQL
import Support
import Synchronization

/// Who may read the pages and send their forms.
///
/// The dashboard has no accounts. On the loopback every user of the machine can read it; other machines need a token, or a
/// login of the database with its password, which is exchanged once for a cookie. A form works only from the dashboard's
/// own page in the browser that was given it.
struct Door: Sendable {
  /// Who is let in.
  enum Rule: Sendable {
    /// Whoever reaches the loopback; all see the same.
    case thisMachine(DashboardContext)
    /// Whoever has the token; the connection to the browser is TLS, which another program ends.
    case token(Secret, DashboardContext)
    /// Whoever has the password of a login of the database, each as that login.
    case logins(DatabaseLogins)
  }

  let rule: Rule
  /// Below which path the pages are; empty at the root.
  private let basePath: String
  private let sessions: Sessions
  /// Made anew with each process: with it a form's token is made of the session's number.
  private let key = Sessions.randomNumber()
  private let now: @Sendable () -> ContinuousClock.Instant

  init(_ rule: Rule, below basePath: String = "", now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.rule = rule
    self.basePath = basePath
    self.now = now
    sessions = Sessions(now: now)
  }

  /// The cookie's name. By TLS alone one can be set that begins with an underscore, and by this host alone that of the
  /// root.
  private var cookie: String {
    guard isBehindTLS else { return "analysis_session" }
    return basePath.isEmpty ? "__Host-analysis_session" : "__Secure-analysis_session"
  }
  /// The cookie of the form by which a reader logs in; a link from elsewhere, which brings no session along, leaves that.
  private var formCookie: String { cookie + "_form" }
  /// Whether a reader has to show something first.
  var asksWhoReads: Bool { if case .thisMachine = rule { false } else { true } }
  /// Whether browsers come by TLS.
  var isBehindTLS: Bool {
    switch rule {
    case .thisMachine: false
    case .token: true
    case .logins(let logins): logins.isBehindTLS
    }
  }

  // MARK: - Reading

  struct Session: Sendable {
    let number: String
    /// What a form of this reader carries.
    let token: String
    /// What the reader sees, and as whom.
    var context: DashboardContext
    /// The header that gives the browser its number, where it has none yet.
    var setCookie: (name: String, value: String)?
  }

  /// The session of a request that may read pages; nil for one that has to log in first.
  ///
  /// - Throws: `PageFailure` for a request that another site's page makes in its own name.
  func session(_ request: HTTPRequest) async throws(PageFailure) -> Session? {
    // Whole windows come from anywhere, as by a link; what loads in the background or in a frame comes from our own
    // pages. Else any page of the web could have the audit record that this login reads pictures.
    if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none" {
      let isWindow = (request.headers["sec-fetch-dest"] ?? "document") == "document"
      guard request.headers["sec-fetch-mode"] == "navigate", isWindow else { throw Self.foreign }
    }
    if case .thisMachine(let context) = rule {
      let (number, setCookie) = number(request, cookie)
      return Session(number: number, token: token(number), context: context, setCookie: setCookie)
    }
    // A page that only brings itself up to date is no sign of a reader.
    let isUsed = !Visit(request).isLive && request.path != Dashboard.eventsPath
    guard let number = request.cookies[cookie], let context = sessions.context(of: number, isUsed: isUsed)
    else { return nil }
    if case .logins(let logins) = rule, await !logins.stillLetsIn(context) {
      await sessions.end { $0.database === context.database }
      return nil
    }
    return Session(number: number, token: token(number), context: context)
  }

  /// What a form carries in a browser with this number.
  private func token(_ number: String) -> String { SHA256.hexadecimal(of: key + number) }

  /// The number that a browser has in a cookie; a new one where it has none, with the header that gives it.
  private func number(_ request: HTTPRequest, _ cookie: String) -> (String, (name: String, value: String)?) {
    if let number = request.cookies[cookie], Sessions.isNumber(number) { return (number, nil) }
    let number = Sessions.randomNumber()
    return (number, setCookie(cookie, number))
  }

  private func setCookie(_ cookie: String, _ number: String, age: Int? = nil) -> (name: String, value: String)
  {
    let text =
      "\(cookie)=\(number); Path=\(basePath.isEmpty ? "/" : basePath); HttpOnly; SameSite=Strict"
      + (isBehindTLS ? "; Secure" : "")
      + (age.map { "; Max-Age=\($0)" } ?? "")
    return ("Set-Cookie", text)
  }

  // MARK: - Forms

  private static let foreign = PageFailure(
    status: 403, title: "Refused",
    message: "The request was made by a page of another site. Nothing was changed.",
    advice: "Open the dashboard by itself, and do it there.")

  /// Refuses a form that was not sent from a page of this dashboard.
  func checkOrigin(_ request: HTTPRequest) throws(PageFailure) {
    if let site = request.headers["sec-fetch-site"], site != "same-origin" { throw Self.foreign }
    guard let origin = request.headers["origin"] else { return }
    guard let host = request.headers["host"], origin == (isBehindTLS ? "https://" : "http://") + host else {
      throw Self.foreign
    }
  }

  /// Refuses a form that was not given to this very reader.
  func checkForm(_ request: HTTPRequest, of session: Session) throws(PageFailure) {
    try checkForm(request, carries: session.token)
  }

  private func checkForm(_ request: HTTPRequest, carries token: String) throws(PageFailure) {
    try checkOrigin(request)
    guard let given = request.form["token"], Self.isSame(given, token) else {
      throw PageFailure(
        status: 403, title: "Refused",
        message: "The form is out of date, or is not of this dashboard. Nothing was changed.",
        advice: "Go back, load the page anew, and send the form again.")
    }
  }

  /// Compares what an attacker chooses with a secret. Of the hashes no attacker knows how they agree.
  private static func isSame(_ given: String, _ secret: String) -> Bool {
    SHA256.digest(of: Array(given.utf8)) == SHA256.digest(of: Array(secret.utf8))
  }

  // MARK: - Messages

  /// Keeps what was done, for the next page that the reader loads.
  func keep(_ message: Message, for session: Session) { sessions.keep(message, for: session.number) }

  /// What was done; it is said once.
  func takeMessage(of session: Session) -> Message? { sessions.takeMessage(of: session.number) }

  // MARK: - Logging in

  /// The page by which a reader comes in.
  ///
  /// - Parameter failure: Why what was entered before was not taken.
  func logInPage(
    _ request: HTTPRequest, after failure: PageFailure? = nil
  ) -> (page: Page, setCookie: (name: String, value: String)?) {
    var (fields, setCookie): (HTML, (name: String, value: String)?) = (LogInPage.token, nil)
    if case .logins(let logins) = rule {
      do throws(PageFailure) { try logins.checkWay(request) } catch { return (error.page, nil) }
      let number: String
      (number, setCookie) = self.number(request, formCookie)
      fields = LogInPage.login(token(number))
    }
    return (LogInPage.page(fields, after: failure), setCookie)
  }

  /// Exchanges the token, or a login's password, for a session.
  ///
  /// - Returns: The header that gives the browser its number.
  func logIn(_ request: HTTPRequest) async throws(PageFailure) -> (name: String, value: String) {
    switch rule {
    case .thisMachine: throw .missing("Nobody logs in here.")
    case .token(let secret, let context):
      try checkOrigin(request)
      // Whoever has it is let in however often others tried: nobody locks the readers out. It cannot be guessed.
      guard let given = request.form["token"], Self.isSame(given, secret.reveal()) else {
        throw PageFailure(
          status: 403, title: "Wrong token", message: "That is not the token of this dashboard.",
          advice: "It stands in the file that --token-file names on the machine that serves this page.")
      }
      // A number of its own: one that the browser had before is worth nothing.
      let number = await sessions.begin(context)
      return setCookie(cookie, number, age: Int(Sessions.lifetime.components.seconds))
    case .logins(let logins):
      try logins.checkWay(request)
      try checkForm(request, carries: token(number(request, formCookie).0))
      let context = try await logins.open(
        request.form["login"] ?? "", Secret(request.form["password"] ?? ""), for: request, at: now())
      // Without an age: it ends with the browser.
      return setCookie(cookie, await sessions.begin(context))
    }
  }

  func logOut(_ session: Session) async -> (name: String, value: String) {
    await sessions.end(session.number)
    return setCookie(cookie, "", age: 0)
  }

  /// Forgets the logins whose sessions are over, or of all.
  func forgetLogins(all: Bool = false) async { await sessions.end { _ in all } }
}

/// The page by which a reader comes in.
enum LogInPage {
  static func page(_ fields: HTML, after failure: PageFailure?) -> Page {
    Page(
      title: failure?.title ?? "Log in",
      content: """
        \(failure?.notice)
        <form method="post" action="/log-in" class="confirm">
        \(fields)
        <p class="buttons"><button>Log in</button></p>
        </form>
        """, status: failure?.status ?? 200)
  }

  static let token: HTML = """
    <p><label for="token">Token of this dashboard</label>
    <input id="token" name="token" type="password" required autocomplete="current-password"></p>
    """

  static func login(_ token: String) -> HTML {
    """
    <input type="hidden" name="token" value="\(token)">
    <p><label for="login">Login of the database</label>
    <input id="login" name="login" required autocomplete="username" autocapitalize="none" spellcheck="false"></p>
    <p><label for="password">Password</label>
    <input id="password" name="password" type="password" required autocomplete="current-password"></p>
    """
  }
}

/// The sessions that a token or a password was exchanged for, and what readers are shown once. Kept in memory, by the hash
/// of the session's number, and bounded.
final class Sessions: Sendable {
  /// How long a session lasts.
  static let lifetime = Duration.seconds(8 * 3600)
  /// How long one of a login lasts that nobody uses.
  static let idleTime = Duration.seconds(1800)
  /// How many logins there may be at once, each with connections of its own.
  static let mostLogins = 24
  private static let most = 1000
  /// Of one login: none takes another's place by its own.
  private static let mostOfLogin = most / (mostLogins + 1)

  private struct Open {
    let context: DashboardContext
    let begun: ContinuousClock.Instant
    var used: ContinuousClock.Instant

    /// Whose connections are kept for the session alone; nil where it is the dashboard's own.
    var login: String? { context.database.configuration.login?.name }

    func isOver(at now: ContinuousClock.Instant) -> Bool {
      now - begun >= Sessions.lifetime || login != nil && now - used >= Sessions.idleTime
    }
  }

  private struct State {
    var open: [String: Open] = [:]
    var messages: [String: Message] = [:]

    /// The connections of readers' logins.
    var pools: [ConnectionPool] { open.values.filter { $0.login != nil }.map(\.context.database) }
    /// When each of the logins was last used.
    var logins: [String: ContinuousClock.Instant] {
      open.values.reduce(into: [:]) { all, open in
        if let login = open.login { all[login] = max(all[login] ?? open.used, open.used) }
      }
    }
  }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  /// 32 random bytes of the system, in hexadecimal.
  static func randomNumber() -> String { Hexadecimal.random(bytes: 32) }

  /// Whether a text looks like one of them.
  static func isNumber(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Begins one; where the login has too many, its oldest ends, and where there are too many logins, that one's end which was
  /// used least lately. Those of a login have the same connections; by another password than theirs they end.
  func begin(_ context: DashboardContext) async -> String {
    let (number, now) = (Self.randomNumber(), now())
    await change(at: now, context) { state in
      var context = context
      if let login = context.database.configuration.login {
        if let same = state.open.values.first(where: { $0.login == login.name })?.context {
          if same.database.configuration.login?.password == login.password {
            context = same
          } else {
            state.open = state.open.filter { $0.value.login != login.name }
          }
        }
        var others = state.logins
        others[login.name] = nil
        if others.count >= Self.mostLogins, let idle = others.min(by: { $0.value < $1.value })?.key {
          state.open = state.open.filter { $0.value.login != idle }
        }
      }
      let login = context.database.configuration.login?.name
      let own = state.open.filter { $0.value.login == login }
      if own.count >= (login == nil ? Self.most : Self.mostOfLogin) {
        own.min { $0.value.begun < $1.value.begun }.map { state.open[$0.key] = nil }
      }
      state.open[Self.hash(number)] = Open(context: context, begun: now, used: now)
    }
    return number
  }

  /// What a session shows that was begun and is not over.
  ///
  /// - Parameter isUsed: Whether somebody is there.
  func context(of number: String, isUsed: Bool) -> DashboardContext? {
    let (key, now) = (Self.hash(number), now())
    return state.withLock { state in
      guard let open = state.open[key], !open.isOver(at: now) else { return nil }
      if isUsed { state.open[key]?.used = now }
      return open.context
    }
  }

  func end(_ number: String) async {
    await change(at: now()) { $0.open[Self.hash(number)] = nil }
  }

  /// Ends those that show something, and those that are over.
  func end(where shows: @Sendable (DashboardContext) -> Bool) async {
    await change(at: now()) { state in state.open = state.open.filter { !shows($0.value.context) } }
  }

  /// Changes the sessions, and closes the connections of logins that have none any more.
  private func change(
    at now: ContinuousClock.Instant, _ new: DashboardContext? = nil, _ body: (inout State) -> Void
  ) async {
    let unused = state.withLock { state in
      let before = state.pools + [new?.database].compactMap { $0 }.filter { $0.configuration.login != nil }
      state.open = state.open.filter { !$0.value.isOver(at: now) }
      body(&state)
      let kept = Set(state.pools.map(ObjectIdentifier.init))
      return before.filter { !kept.contains(ObjectIdentifier($0)) }
    }
    for pool in unused { await pool.close() }
  }

  /// Keeps a message for a reader.
  func keep(_ message: Message, for number: String) {
    state.withLock { state in
      if state.messages.count >= Self.most { state.messages = [:] }
      state.messages[Self.hash(number)] = message
    }
  }

  /// The message that was kept; it is forgotten.
  func takeMessage(of number: String) -> Message? {
    state.withLock { $0.messages.removeValue(forKey: Self.hash(number)) }
  }

  private static func hash(_ number: String) -> String { SHA256.hexadecimal(of: number) }
}
