import HTTPServing
import Queue
import Support

extension DashboardPage {
  /// Who did what to what, when and why.
  static let audit = DashboardPage(path: "/audit", section: .audit, roles: [.auditor]) { request, context in
    let search = try AuditSearch(request.query)
    // Read for this reader alone: what others searched for stands nowhere.
    let entries = try await AuditLog(context.database).list(search.filter, limit: AuditSearch.most)
    return Page(
      title: "Audit",
      content: """
        <p><a href="/audit/verification">Verify that no entry was changed, removed or put in</a></p>
        \(search.form)
        \(search.table(entries))
        """)
  }

  /// What the verification has come to.
  static let auditVerification = DashboardPage(
    path: "/audit/verification", section: .audit, roles: [.auditor]
  ) { _, context in
    try await requireReader(context)
    let state = await context.verification.state
    return Page(
      title: "Verification of the audit",
      content: """
        \(HTML.live("verdict", await verdict(state, context)))
        <p><a href="/audit/verify">Verify it now</a>, or go back to the <a href="/audit">audit</a>.</p>
        """, isLive: true)
  }

  /// Has the database refuse a login that may not read the audit.
  static func requireReader(_ context: DashboardContext) async throws {
    _ = try await context.value(
      of: Reading(key: "audit's reader", statements: 3, saysAge: false) { [database = context.database] in
        try await AuditLog(database).list(AuditFilter(before: 1), limit: 1)
      })
  }

  private static func verdict(_ state: AuditVerification.State, _ context: DashboardContext) async -> HTML {
    switch state {
    case .none: return "<p class=\"empty\">It was not verified since this dashboard was started.</p>"
    case .running: return .notice("warn", "It is being verified: every entry is read.")
    case .ended(.failure(let error), let at):
      let failure = await PageFailure(error, needing: [.auditor], context)
      return .notice(
        "bad", "\(HTML.time(at)): it could not be verified. \(failure.message) \(failure.advice)")
    case .ended(.success(let verdict), let at): return Self.verdict(verdict, at)
    }
  }

  private static func verdict(_ verdict: AuditVerdict, _ at: Double) -> HTML {
    let end: HTML = .facts([
      ("Verified", .time(at)), ("Entries", "\(verdict.count)"), ("Not chained yet", "\(verdict.pending)"),
      ("Its end", "<code>\(verdict.end?.description ?? "is missing")</code>"),
    ])
    guard !verdict.faults.isEmpty else { return "\(HTML.notice("good", "The audit is whole."))\(end)" }
    let faults = verdict.faults.map { fault in
      "<li>\(fault.id.map { id in "Entry \(id): " as HTML })\(fault.message)</li>" as HTML
    }
    return "\(HTML.notice("bad", "The audit has been changed."))<ul>\(faults)</ul>\(end)"
  }
}

extension DashboardAction {
  /// Reads the whole audit.
  static let verifyAudit = DashboardAction(
    path: "/audit/verify", section: .audit, roles: [.auditor],
    confirm: { _, context in
      try await DashboardPage.requireReader(context)
      let end = try await AuditLog(context.database).end()
      return PageConfirmation(
        title: "Verify the audit?",
        content: """
          <p>\(end.mark.id) entries were written so far, and every one that is kept is read. Nothing is changed.
          An end that is kept outside of the database is compared by analysisctl audit verify alone.</p>
          """, buttons: PageConfirmation.sure("Verify the audit", back: "/audit"), asksForReason: false)
    },
    perform: { _, context in
      await context.verification.begin(context.database) { UnixTime.now.secondsSince1970 }
      return Outcome(done: "The verification has begun.", path: "/audit/verification")
    })
}
