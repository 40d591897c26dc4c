import HTTPServing
import Support
import Synchronization

/// Who may read the pages and send their forms.
///
/// The dashboard has no accounts. On the loopback every user of the machine can read it; other machines need a token,
/// which is exchanged once for a cookie. In both cases a form works only from the dashboard's own page in the browser
/// that was given it.
struct Door: Sendable {
  /// Who is let in.
  enum Rule: Sendable {
    /// Whoever reaches the loopback.
    case thisMachine
    /// Whoever has the token; the connection to the browser is TLS, which another program ends.
    case token(Secret)
  }

  let rule: Rule
  /// Below which path the pages are; empty at the root.
  private let basePath: String
  private let sessions: Sessions
  /// Made anew with each process: with it a form's token is made of the session's number.
  private let key = Sessions.randomNumber()

  init(_ rule: Rule, below basePath: String = "", now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.rule = rule
    self.basePath = basePath
    sessions = Sessions(now: now)
  }

  /// The cookie's name. By TLS alone one can be set that begins with an underscore, and by this host alone that of the
  /// root.
  private var cookie: String {
    guard asksForToken else { return "analysis_session" }
    return basePath.isEmpty ? "__Host-analysis_session" : "__Secure-analysis_session"
  }
  /// Whether a reader has to show the token, and is reached by TLS.
  var asksForToken: Bool { if case .token = rule { true } else { false } }

  // MARK: - Reading

  struct Session: Sendable {
    let number: String
    /// What a form of this reader carries.
    let token: String
    /// The header that gives the browser its number, where it has none yet.
    var setCookie: (name: String, value: String)?
  }

  /// The session of a request that may read pages; nil for one that has to show the token first.
  ///
  /// - Throws: `PageFailure` for a request that another site's page makes in its own name.
  func session(_ request: HTTPRequest) throws(PageFailure) -> Session? {
    // Whole windows come from anywhere, as by a link; what loads in the background or in a frame comes from our own
    // pages. Else any page of the web could have the audit record that this login reads pictures.
    if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none" {
      let isWindow = (request.headers["sec-fetch-dest"] ?? "document") == "document"
      guard request.headers["sec-fetch-mode"] == "navigate", isWindow else { throw Self.foreign }
    }
    let number = request.cookies[cookie].flatMap { Sessions.isNumber($0) ? $0 : nil }
    switch rule {
    case .thisMachine: return number.map { session($0) } ?? newSession()
    case .token: return number.flatMap { sessions.isKnown($0) ? session($0) : nil }
    }
  }

  private func session(_ number: String) -> Session {
    Session(number: number, token: SHA256.hexadecimal(of: key + number))
  }

  private func newSession() -> Session {
    let number = Sessions.randomNumber()
    var session = session(number)
    session.setCookie = ("Set-Cookie", cookieText(number))
    return session
  }

  private func cookieText(_ number: String, age: Int? = nil) -> String {
    "\(cookie)=\(number); Path=\(basePath.isEmpty ? "/" : basePath); HttpOnly; SameSite=Strict"
      + (asksForToken ? "; Secure" : "")
      + (age.map { "; Max-Age=\($0)" } ?? "")
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
    guard let host = request.headers["host"], origin == (asksForToken ? "https://" : "http://") + host else {
      throw Self.foreign
    }
  }

  /// Refuses a form that was not given to this very reader.
  func checkForm(_ request: HTTPRequest, of session: Session) throws(PageFailure) {
    try checkOrigin(request)
    guard let token = request.form["token"], Self.isSame(token, session.token) else {
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

  /// Exchanges the token for a session.
  ///
  /// - Returns: The header that gives the browser its number.
  func logIn(_ request: HTTPRequest) throws(PageFailure) -> (name: String, value: String) {
    try checkOrigin(request)
    guard case .token(let secret) = rule else { throw .missing("Nobody logs in here.") }
    // Whoever has it is let in however often others tried: nobody locks the readers out. It cannot be guessed.
    guard let given = request.form["token"], Self.isSame(given, secret.reveal()) else {
      throw PageFailure(
        status: 403, title: "Wrong token", message: "That is not the token of this dashboard.",
        advice: "It stands in the file that --token-file names on the machine that serves this page.")
    }
    // A number of its own: one that the browser had before is worth nothing.
    return ("Set-Cookie", cookieText(sessions.begin(), age: Int(Sessions.lifetime.components.seconds)))
  }

  func logOut(_ session: Session) -> (name: String, value: String) {
    sessions.end(session.number)
    return ("Set-Cookie", cookieText("", age: 0))
  }
}

/// The pages by which a reader comes in and goes out.
enum LogInPage {
  /// The form that takes the token.
  ///
  /// - Parameter failure: Why the one that was entered before was not taken.
  static func page(after failure: PageFailure? = nil) -> Page {
    Page(
      title: failure?.title ?? "Log in",
      content: """
        \(failure?.notice)
        <form method="post" action="/log-in" class="confirm">
        <p><label for="token">Token of this dashboard</label>
        <input id="token" name="token" type="password" required autocomplete="current-password"></p>
        <p class="buttons"><button>Log in</button></p>
        </form>
        """, status: failure?.status ?? 200)
  }

  static func logOut(_ token: String) -> Page {
    Page(
      title: "Log out",
      content: """
        <form method="post" action="/log-out" class="confirm">
        <input type="hidden" name="token" value="\(token)">
        <p class="buttons"><button>Log out</button> <a href="/">Stay</a></p>
        </form>
        """)
  }
}

/// The sessions that a token was exchanged for, and what readers are shown once. Kept in memory, by the hash of the
/// session's number, and bounded.
final class Sessions: Sendable {
  /// How long a session lasts.
  static let lifetime = Duration.seconds(8 * 3600)
  private static let most = 1000

  private struct State {
    var begun: [String: ContinuousClock.Instant] = [:]
    var messages: [String: Message] = [:]
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

  /// Begins one; where there are too many, the oldest ends.
  func begin() -> String {
    let (number, now) = (Self.randomNumber(), now())
    state.withLock { state in
      state.begun = state.begun.filter { now - $0.value < Self.lifetime }
      if state.begun.count >= Self.most, let oldest = state.begun.min(by: { $0.value < $1.value }) {
        state.begun[oldest.key] = nil
      }
      state.begun[Self.hash(number)] = now
    }
    return number
  }

  /// Whether it was begun and has not ended.
  func isKnown(_ number: String) -> Bool {
    state.withLock { $0.begun[Self.hash(number)] }.map { now() - $0 < Self.lifetime } ?? false
  }

  func end(_ number: String) {
    state.withLock { _ = $0.begun.removeValue(forKey: Self.hash(number)) }
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
