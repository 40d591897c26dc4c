import CommandLineTool
import HTTPServing
public import PostgreSQL
public import Queue
import Support

/// Pausing and resuming: what is paused, and the two actions.
enum Pauses {
  /// The roles of which any may pause and resume.
  static let roles: [DatabaseRole] = [.operator]

  /// What is paused, with what a login that may do so can do about it: a part of the overview.
  static func html(_ pauses: [OperatorPause], mayChange: Bool) -> HTML {
    let lines = pauses.map { pause -> HTML in
      let resume: HTML =
        """
        <a href="\(address("/resume", pause.scope))" \
        aria-label="Resume \(pause.scope.description.shortened(to: 100))">Resume…</a>
        """
      return "<li>\(pause.line.shortened(to: 300)) \(mayChange ? resume : nil)</li>\n"
    }
    let scopes = [OperatorPause.Scope.everything] + AnalysisKind.allCases.map { .kind($0) }
    let offers = scopes.filter { scope in !pauses.contains { $0.scope == scope } }.map { scope -> HTML in
      "<a class=\"button\" href=\"\(address("/pause", scope))\">Pause \(scope.description)…</a> "
    }
    return """
      \(lines.isEmpty ? "<p>Nothing is paused.</p>" : "<ul class=\"pauses\">\n\(lines)</ul>" as HTML)
      \(mayChange ? "<p class=\"buttons\">\(offers)</p>" : nil as HTML?)
      """
  }

  static let actions = [
    DashboardAction(
      path: "/pause", section: .overview, roles: roles,
      confirm: { request, _ in
        let scope = try scope(request)
        return PageConfirmation(
          title: "Pause \(scope.description.shortened(to: 100))?",
          content: """
            <p>Every worker obeys within a few seconds, one that is started later too. Calls in flight go on, jobs wait \
            and none is failed; submits are taken as ever. It lasts until it is resumed.</p>
            """,
          buttons: PageConfirmation.sure("Pause \(scope.description.shortened(to: 100))", back: "/"))
      },
      perform: { request, context in
        let scope = try scope(request)
        let reason = try PageConfirmation.reason(request)
        let outcome = try await PauseDirectory(context.database).pause(
          scope, reason: reason, until: nil, by: context.actor(reason: reason))
        let text =
          switch outcome {
          case .paused: "is paused"
          case .changed: "was paused already; its reason and end are new"
          case .unchanged: "was paused already"
          }
        return .init(done: "\(scope.description) \(text).", path: "/")
      }),
    DashboardAction(
      path: "/resume", section: .overview, roles: roles,
      confirm: { request, _ in
        let scope = try scope(request)
        return PageConfirmation(
          title: "Resume \(scope.description.shortened(to: 100))?",
          content:
            "<p>Workers start its jobs again within a few seconds, unless something else is paused too.</p>",
          buttons: PageConfirmation.sure("Resume \(scope.description.shortened(to: 100))", back: "/"))
      },
      perform: { request, context in
        let scope = try scope(request)
        let wasPaused = try await PauseDirectory(context.database).resume(
          scope, by: context.actor(reason: try PageConfirmation.reason(request)))
        return .init(
          done: "\(scope.description) \(wasPaused ? "is resumed" : "was not paused").", path: "/")
      }),
  ]

  private static func address(_ path: String, _ scope: OperatorPause.Scope) -> String {
    switch scope {
    case .everything: path
    case .kind(let kind): HTML.address(path, [("type", kind.rawValue)])
    case .endpoint(let name): HTML.address(path, [("endpoint", name)])
    }
  }

  private static func scope(_ request: HTTPRequest) throws(PageFailure) -> OperatorPause.Scope {
    switch (request.query["type"], request.query["endpoint"]) {
    case (nil, nil): return .everything
    case (let type?, nil):
      guard let kind = AnalysisKind(rawValue: type) else { throw .invalid("The type is not throat or ear.") }
      return .kind(kind)
    case (nil, let name?):
      guard (1...200).contains(name.unicodeScalars.count) else {
        throw .invalid("An endpoint's name has 1 to 200 characters.")
      }
      return .endpoint(name)
    default: throw .invalid("Either a type or an endpoint is paused.")
    }
  }
}

extension PauseDirectory {
  /// What became of a wish to pause.
  public enum Outcome: String, Sendable, ColumnValue {
    /// It runs no more.
    case paused
    /// It was paused already; the reason or the end is another now.
    case changed
    /// It was paused already, for the same reason and as long.
    case unchanged
  }

  /// Pauses something.
  ///
  /// - Parameters:
  ///   - reason: for whoever looks at it, at most 500 characters; nil for none.
  ///   - until: when it ends by itself, in seconds since 1970; nil for when it is resumed.
  ///   - actor: who does it, for the audit; nil for what the server knows itself.
  /// - Throws: `badRow` for a time that has passed or a text that is too long.
  public func pause(
    _ scope: OperatorPause.Scope, reason: String?, until: Double?, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Outcome {
    let (scope, name) = scope.columns
    return try await Statement(
      SQLFunction("pause", 4),
      [
        .text(scope), .text(storable(name)), .text(reason.map(storable)), .timestamp(timestamp(until)),
      ], as: Outcome.self, while: "pausing"
    ).run(on: database, as: actor)
  }

  /// Ends a pause; answers whether there was one.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  public func resume(
    _ scope: OperatorPause.Scope, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    let (scope, name) = scope.columns
    return try await Statement(
      SQLFunction("resume", 2), [.text(scope), .text(storable(name))], as: Bool.self, while: "resuming"
    ).run(on: database, as: actor)
  }
}

extension OperatorPause {
  /// `ear: paused by postgres since 2026-11-21 10:00:00Z until …: model upgrade`.
  public var line: String {
    var line = "\(scope): paused by \(by) since \(Moment.short(since))"
    if let until { line += " until \(Moment.short(until))" }
    if let reason { line += ": \(reason)" }
    return printable(line)
  }
}

enum ResumeCommand {
  static let command = ControlCommand(
    "resume", abstract: "End a pause.",
    discussion: """
      It ends the pause that was made with the same options, and tells which others there are. Ending one that \
      is not there changes nothing.
      """,
    examples: [
      Example("analysisctl resume --type ear", "Ear images are sent again."),
      Example("analysisctl resume", "End the pause of everything."),
    ],
    inputs: PauseTarget.inputs + [ReasonOption.reason],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let scope = try PauseTarget.scope(context)
    return try await context.withSession { session in
      let pauses = PauseDirectory(session.database)
      let outcome = try await pauses.resume(scope, by: session.actor) ? "resumed" : "unchanged"
      return try session.show(
        PauseResponse(scope: scope, outcome: outcome, inForce: try await pauses.inForce()))
    }
  }
}
