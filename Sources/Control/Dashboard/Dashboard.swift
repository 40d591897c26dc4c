import HTTPServing
import PostgreSQL
import Queue
import Support

/// The pages of `analysisctl serve` for a person at a browser.
struct Dashboard: Sendable {
  /// What a page may load and send: this program's own, and nothing that stands in the page itself.
  static let policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
  /// How many browsers receive changes at once; a further one asks by itself.
  static let listeners = 32

  static let eventsPath = "/events"

  private let skin: Skin
  private let door: Door
  private let feed: LiveFeed
  /// Below which path a proxy serves the pages, without a slash at its end; empty at the root.
  private let basePath: String
  let pages: [DashboardPage]
  let actions: [DashboardAction]

  /// The dashboard of a queue, with the looks of a product.
  init(
    _ rule: Door.Rule, skin: Skin = .usual, below basePath: String = "",
    pages: [DashboardPage] = DashboardPage.all, actions: [DashboardAction] = DashboardAction.all,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.skin = skin
    self.pages = pages
    self.actions = actions
    self.basePath = basePath
    door = Door(rule, below: basePath, now: now)
    // A little later than what was read for the event before is old.
    let pause = QueueMonitor.statusAge + .milliseconds(250)
    feed = LiveFeed(atMost: Self.listeners) { try await Task.sleep(for: pause) }
  }

  /// The events of `routes`, for the server to end them when it stops.
  var events: HTTPEvents { feed.events }

  /// How much its browsers may take: each holds a connection for events beside those by which it loads.
  static var bounds: HTTPServer.Bounds {
    var bounds = HTTPServer.Bounds()
    bounds.daemon.connections = listeners + 64
    bounds.daemon.threads = HTTPDaemon.Bounds.processors
    return bounds
  }

  var routes: [HTTPRoute] {
    let files = [
      HTTPRoute("/style.css") { .file("text/css; charset=utf-8", Stylesheet.css + skin.css) },
      HTTPRoute("/icon.svg") { .file("image/svg+xml", Stylesheet.icon) },
      HTTPRoute("/live.js") { .file("text/javascript; charset=utf-8", LiveScript.javaScript) },
      HTTPRoute(ReviewScript.path) { .file("text/javascript; charset=utf-8", ReviewScript.javaScript) },
      HTTPRoute(.get, JobPicture.path) { request in
        await answer(request, .jobs, JobPicture.roles) { try await JobPicture.answer(request, $0.context) }
      },
      HTTPRoute(Skin.logoPath) { skin.logo.map { .picture($0) } ?? .text(404, "There is no logo.") },
      HTTPRoute(.get, PictureFiles.user) { request in
        await answer(request, .usage, PictureFiles.userRoles) {
          try await PictureFiles.answerUser(request, $0.context)
        }
      },
      HTTPRoute(.get, PictureFiles.logo) { request in
        await answer(request, .usage, PictureFiles.logoRoles) {
          try await PictureFiles.answerLogo(request, $0.context)
        }
      },
      HTTPRoute(.get, Self.eventsPath) { request in await answer(request, nil) { _ in feed.answer() } },
    ]
    let routes = (files + doorRoutes + pages.map(route) + actions.flatMap(routes)).map { $0.below(basePath) }
    guard door.isBehindTLS else { return routes }
    return routes.map { route in
      var route = route
      route.answersAnyName = true
      return route
    }
  }

  private func route(_ page: DashboardPage) -> HTTPRoute {
    HTTPRoute(.get, page.path) { request in
      await answer(request, page.section, page.roles) { session in
        let context = session.context.visited(by: request)
        if page.path == Section.overview.path, !context.visit.isLive,
          let first = await sections(context).first, first != page.section
        {
          return redirect(to: first.path)
        }
        let shown = try await page.render(request, context)
        // What brings a page up to date takes no message away.
        let message = context.visit.isLive ? nil : door.takeMessage(of: session)
        return await show(shown, page.section, to: session, message, context, request.query)
      }
    }
  }

  private func routes(_ action: DashboardAction) -> [HTTPRoute] {
    let form = HTTPRoute(.get, action.path) { request in
      await answer(request, action.section, action.roles) { session in
        try await session.context.require(action.roles)
        let confirmation = try await action.confirm(request, session.context)
        let address = HTML.address(request.path, request.query.pairs.map { ($0.name, $0.value) })
        let html = confirmation.form(at: address, token: session.token)
        // One form may lead to the next, which says what came of it.
        let message = door.takeMessage(of: session)
        return await show(
          Page(title: confirmation.title, content: html), action.section, to: session, message)
      }
    }
    let done = HTTPRoute(.post, action.path) { request in
      await answer(request, action.section, action.roles) { session in
        try door.checkForm(request, of: session)
        let outcome: DashboardAction.Outcome
        do {
          outcome = try await action.perform(request, session.context)
        } catch {
          // A part of it may have been done.
          await session.context.forget()
          throw error
        }
        await session.context.forget()
        door.keep(outcome.message, for: session)
        return redirect(to: outcome.path)
      }
    }
    return [form, done]
  }

  // MARK: - Answers

  /// Answers a request of somebody who may read; anybody else has to log in.
  private func answer(
    _ request: HTTPRequest, _ section: Section?, _ roles: [DatabaseRole] = [],
    _ make: (Door.Session) async throws -> HTTPAnswer
  ) async -> HTTPAnswer {
    do {
      guard let session = try await door.session(request) else { return redirect(to: Self.logInPath) }
      var answer: HTTPAnswer
      do {
        try Self.checkText(request)
        answer = try await onPrimary(where: session) { try await make($0) }
      } catch {
        let failure = await PageFailure(error, needing: roles, session.context)
        answer = await show(failure.page, section, to: session)
      }
      if let cookie = session.setCookie { answer.headers.append(cookie) }
      return answer
    } catch {
      return outside(error.page)
    }
  }

  /// Makes an answer; what a standby has refused, before it did anything, on the primary.
  private func onPrimary(
    where session: Door.Session, _ make: (Door.Session) async throws -> HTTPAnswer
  ) async throws -> HTTPAnswer {
    do {
      return try await make(session)
    } catch  where PostgreSQLError.within(error)?.isReadOnlyServer == true {
      return try await session.context.database.withPrimary(deadline: .seconds(2), after: error) { primary in
        var session = session
        session.context.database = primary
        return try await make(session)
      }
    }
  }

  private func redirect(to path: String) -> HTTPAnswer { .redirect(to: basePath + path) }

  /// Refuses a zero byte, which no text in the database has.
  private static func checkText(_ request: HTTPRequest) throws(PageFailure) {
    let texts = (request.query.pairs + request.form.pairs).flatMap { [$0.name, $0.value] }
    guard texts.allSatisfy({ !$0.unicodeScalars.contains("\0") }) else {
      throw .invalid("A zero byte is in what was sent, and is no part of any name.")
    }
  }

  private func show(
    _ page: Page, _ section: Section?, to session: Door.Session, _ message: Message? = nil,
    _ visited: DashboardContext? = nil, _ query: FormValues = FormValues()
  ) async -> HTTPAnswer {
    let context = visited ?? session.context
    let frame = Frame(
      skin: skin, section: section, sections: await sections(context),
      foot:
        "<p>Shown as login \(context.login) in database \(context.databaseName)\(await context.standbyText()).</p>",
      logOut: door.asksWhoReads ? session.token : nil, message: message, age: visited?.visit.age, query: query
    )
    return .page(frame.html(page), page.status, below: basePath)
  }

  /// The parts whose first page this login may open; all of them where the database does not say what it may.
  private func sections(_ context: DashboardContext) async -> [Section] {
    let login = try? await context.login(noOlderThan: .seconds(60))
    return Section.allCases.filter { entry in
      guard entry != .reviews || context.reviewsRefusal == nil else { return false }
      return pages.contains { $0.path == entry.path && (login?.has(anyOf: $0.roles) ?? true) }
    }
  }

  // MARK: - Logging in

  private static let logInPath = "/log-in"

  private var doorRoutes: [HTTPRoute] {
    guard door.asksWhoReads else { return [] }
    return [
      HTTPRoute(.get, Self.logInPath) { request in logInPage(request) },
      HTTPRoute(.post, Self.logInPath) { request in
        do throws(PageFailure) {
          var answer = redirect(to: Section.overview.path)
          answer.headers.append(try await door.logIn(request))
          return answer
        } catch {
          return logInPage(request, after: error)
        }
      },
      HTTPRoute(.post, Frame.logOutPath) { request in
        await answer(request, nil) { session in
          try door.checkForm(request, of: session)
          var answer = redirect(to: Self.logInPath)
          answer.headers.append(await door.logOut(session))
          return answer
        }
      },
    ]
  }

  private func logInPage(_ request: HTTPRequest, after failure: PageFailure? = nil) -> HTTPAnswer {
    let (page, setCookie) = door.logInPage(request, after: failure)
    var answer = outside(page)
    if let setCookie { answer.headers.append(setCookie) }
    return answer
  }

  /// Forgets the logins whose sessions are over, or all of them; to be called from time to time, and at the end.
  func forgetLogins(all: Bool = false) async { await door.forgetLogins(all: all) }

  /// A page for somebody who has not logged in: it says nothing of the database.
  private func outside(_ page: Page) -> HTTPAnswer {
    .page(Frame(skin: skin, foot: "").html(page), page.status, below: basePath)
  }
}

extension HTTPAnswer {
  /// A page. Its browser tells its address to no other site.
  fileprivate static func page(_ html: HTML, _ status: Int, below basePath: String) -> HTTPAnswer {
    let body = PageMarkup(basePath: basePath).finished(html.markup)
    var answer = HTTPAnswer(status, contentType: "text/html; charset=utf-8", body: body)
    answer.policy = Dashboard.policy
    answer.headers = [
      // Without it a browser would send no origin with a form, by which its site is known.
      ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
    return answer
  }

  fileprivate static func file(_ type: String, _ text: String) -> HTTPAnswer {
    var answer = HTTPAnswer(contentType: type, body: Array(text.utf8))
    answer.headers = [("Cross-Origin-Resource-Policy", "same-origin")]
    return answer
  }
}

/// A page: where it is, what it belongs to, and what makes it.
struct DashboardPage: Sendable {
  /// The path; a `*` stands for any one part of it.
  let path: String
  let section: Section
  /// The roles of which any may read it, the one first that is meant for it: said to a login that may not.
  let roles: [DatabaseRole]
  let render: @Sendable (HTTPRequest, DashboardContext) async throws -> Page

  /// Every page, in the order of the menu.
  static let all: [DashboardPage] = [
    overview, JobsPage.page, JobPage.page, FailuresPage.page, BatchesPage.page, BatchPage.page, workers,
    usage, reviews, ToReviewPage.page, audit,
    auditVerification,
  ]
}

/// What stands on a page between the menu and the foot.
struct Page: Sendable {
  var title: String
  var content: HTML
  /// Whether the parts of it that are marked so (`HTML.live`) are brought up to date while it is open.
  var isLive = false
  var status = 200
}
