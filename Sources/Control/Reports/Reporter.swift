import PostgreSQL
import Queue
import Support

/// Answers reports from the database.
///
/// A report's rows come from one snapshot, in a transaction that can change nothing, and are written as they
/// arrive, so that memory does not grow with their number.
struct Reporter: Sendable {
  let database: ConnectionPool
  let timeout: Duration
  /// The moment that stands for the server's clock in tests.
  let moment: Timestamp?

  /// How many rows there are between two reports of progress.
  private static let progressStep = 500

  /// A reporter on a database. A report that takes longer than `timeout` is given up, at the server too.
  init(_ database: ConnectionPool, timeout: Duration = .seconds(600)) {
    self.init(database, timeout: timeout, moment: nil)
  }

  init(_ database: ConnectionPool, timeout: Duration = .seconds(600), moment: Timestamp?) {
    self.database = database
    self.timeout = timeout
    self.moment = moment
  }

  /// The running month by the server's clock in the installation's zone.
  /// Throws `unreachable`, `database` or `schema`.
  func currentMonth() async throws(ReportsError) -> Period {
    do {
      return try await database.query(SQLFunction("current_month", 0).text, deadline: timeout)
        .decode(Period.self)
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }

  /// Writes a report.
  ///
  /// Of a month that is not closed a `usage` report is a draft: to write one closes nothing.
  /// One about people is recorded in the audit, by `actor` and with `detail` (a JSON object), once everything
  /// else is sound and before its rows are read; whoever may not read it is refused, and leaves no entry.
  /// `progress` is told now and then how many rows are written, and at the end.
  /// Throws `unknownZone`, `unwritable`, `unreachable`, `database`, `schema` or `interrupted`; a file is then
  /// as it was before.
  func run(
    _ request: ReportRequest, to destination: ReportDestination,
    by actor: SQLStatement? = nil, detail: String? = nil,
    progress: @Sendable (_ rows: Int) -> Void = { _ in }
  ) async throws(ReportsError) -> ReportOutcome {
    do {
      switch destination {
      case .stream(let take):
        var passed = PassedReport()
        return try await goingOn(request) { reporter in
          passed.beginAnew()
          let report = try await reporter.write(request, actor, detail, progress: progress) { chunk in
            let new = try passed.new(chunk)
            do { try take(new) } catch { throw ReportsError(interruptedBy: error) }
          }
          return report.outcome(sha256: nil, isNew: true)
        }
      case .file(let path):
        return try await goingOn(request) { reporter in
          var file = try ReportFile(path)
          let report = try await reporter.write(request, actor, detail, progress: progress) { chunk in
            try file.write(chunk)
          }
          let result = try file.finish(report.meta, format: request.format)
          return report.outcome(sha256: result.sha256, isNew: result.isNew)
        }
      }
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }

  /// How long a primary is looked for, as while a standby takes over.
  private static let patience = Duration.seconds(30)

  /// Reads a report; where that was broken off, by a standby that had to go on with its log or with the connection, once more
  /// from the primary. One whose readers are recorded is not read twice.
  private func goingOn(
    _ request: ReportRequest, _ read: (Reporter) async throws -> ReportOutcome
  ) async throws -> ReportOutcome {
    do {
      return try await read(self)
    } catch let error as PostgreSQLError where error.isBrokenOff && !request.kind.hasDiagnoses {
      return try await database.withPrimary(deadline: Self.patience, after: error) {
        try await read(Reporter($0, timeout: timeout, moment: moment))
      }
    }
  }

  /// Whether this login reads reviews of one month at a time: it sees some clinics only, and is not shown counts of few
  /// persons, of which two ranges of months would tell by their difference.
  func readsReviewsByMonth() async throws(ReportsError) -> Bool {
    do {
      let seesSome = try await database.query(
        SQLFiles.required("roles/sees_some.sql"), deadline: timeout
      ).single().bool("sees_some")
      return seesSome ? try await leastPersons(in: database) > 1 : false
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }

  /// What clinicians say of the analyses of some months, by condition and by confidence, as one moment has it. Who
  /// reads it is recorded, for both, before a row of them is read.
  func reviews(
    from month: Period, to lastMonth: Period, by actor: SQLStatement?
  ) async throws(ReportsError) -> (agreement: [AgreementRow], calibration: [CalibrationRow]) {
    do {
      let requests = [ReportKind.agreement, .calibration].map {
        ReportRequest($0, month: month, lastMonth: lastMonth)
      }
      let readings = try await [open(requests[0], actor, nil), open(requests[1], actor, nil)]
      return try await database.transaction(
        isolation: .repeatableRead, readOnly: true, deadline: timeout
      ) { transaction in
        try await limit(transaction)
        let facts = try await facts(of: month, in: transaction)
        let least = try await leastPersons(in: transaction)
        func rows<R: Report>(_ report: R.Type, _ reading: String?) async throws -> [R.Entry] {
          let question = ReportQuestion(
            month: month, lastMonth: lastMonth, zone: nil, moment: facts.moment, reading: reading,
            scope: UsageScope(), leastPersons: least)
          var rows: [R.Entry] = []
          try await R.ask(question, of: transaction, deadline: timeout) { rows.append($0) }
          return rows
        }
        return (
          agreement: try await rows(AgreementReport.self, readings[0]),
          calibration: try await rows(CalibrationReport.self, readings[1])
        )
      }
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }

  /// What was written, and what else the outcome needs.
  private struct WrittenReport {
    let meta: ReportMeta
    let openJobs: Int
    let removedSince: Timestamp?
    let canBeClosed: Bool
    let standbyChangedAt: Timestamp?

    func outcome(sha256: String?, isNew: Bool) -> ReportOutcome {
      let kind: ReportOutcome.Kind = openJobs > 0 ? .openJobs : isNew ? .written : .nothingToDo
      return ReportOutcome(
        kind: kind, rows: meta.rows, state: meta.state, openJobs: openJobs, sha256: sha256,
        removedSince: removedSince?.secondsSince1970, canBeClosed: canBeClosed,
        standbyChangedAt: standbyChangedAt?.secondsSince1970)
    }
  }

  private func write(
    _ request: ReportRequest, _ actor: SQLStatement?, _ detail: String?, progress: (Int) -> Void,
    to sink: (_ chunk: [UInt8]) throws -> Void
  ) async throws -> WrittenReport {
    let zone = try await zone(named: request.zone)
    let reading = try await open(request, actor, detail)
    return try await database.transaction(
      isolation: .repeatableRead, readOnly: true, deadline: timeout
    ) { transaction in
      try await limit(transaction)
      // Before the snapshot: what is read is at least as new.
      let standbyChangedAt = try await transaction.standbyChangedAt()
      let facts = try await facts(of: request, in: transaction)
      let question = ReportQuestion(
        month: request.month, lastMonth: request.lastMonth ?? request.month, zone: zone,
        moment: facts.moment, reading: reading, scope: request.scope,
        leastPersons: try await leastPersons(in: transaction))
      var meta = meta(of: request, zone: zone, facts)
      let written = try await write(
        request, question, meta, from: transaction, progress: progress, to: sink)
      meta.rows = written.rows
      var openJobs = 0
      if facts.isOver, facts.state == .draft, request.hasState {
        // The month's, also where the report is of a clinic or a user: then its rows do not say.
        let said = request.scope.clinic == nil && request.scope.user == nil ? written.openJobs : nil
        if let said {
          openJobs = Int(said)
        } else {
          openJobs = try await self.openJobs(of: request.month, in: transaction)
        }
      }
      return WrittenReport(
        meta: meta, openJobs: openJobs, removedSince: meta.removedSince,
        canBeClosed: request.kind == .usage && request.groups == nil && facts.state == .draft && facts.isDue,
        standbyChangedAt: standbyChangedAt)
    }
  }

  /// Records in the audit who reads a report with diagnoses, and returns the statement that reads its rows then; nil
  /// for another report. Whatever else the report reads is asked for first, so that a refusal leaves no entry.
  private func open(
    _ request: ReportRequest, _ actor: SQLStatement?, _ detail: String?
  ) async throws -> String? {
    let opening: SQLFunction
    var parameters: [Parameter] = [.int16(request.month.label), .jsonb(detail)]
    switch request.kind {
    case .analyses: opening = SQLFunction("open_analyses", 2)
    case .conditions: opening = SQLFunction("open_conditions", 2)
    case .agreement, .calibration:
      opening = SQLFunction("open_reviews", 4)
      let lastMonth = request.lastMonth ?? request.month
      parameters = [
        .text(request.kind.rawValue), .int16(request.month.label), .int16(lastMonth.label), .jsonb(detail),
      ]
    case .usage, .summary: return nil
    }
    _ = try await facts(of: request.month, in: database)
    let statement = SQLStatement(opening.text, parameters, label: "recording who reads the report")
    let answers = try await database.pipeline(
      (actor.map { [$0] } ?? []) + [statement], atomic: true, deadline: timeout)
    // Who acts is said first, and answers nothing.
    let rows = try answers.map { try $0.get() }
    guard let reading = try rows.last?.decode(String?.self) else {
      throw ReportsError(.schema, "the database does not say by what the report is read")
    }
    return reading
  }

  /// Writes the rows of the report that is asked for; returns how many they are, and how many jobs have not ended, where
  /// they say so.
  private func write(
    _ request: ReportRequest, _ question: ReportQuestion, _ meta: ReportMeta, from transaction: Transaction,
    progress: (Int) -> Void, to sink: (_ chunk: [UInt8]) throws -> Void
  ) async throws -> (rows: Int, openJobs: Int64?) {
    func rows<R: Report>(_ report: R.Type, _ columns: [Column]) async throws -> (Int, Int64?) {
      var writer = ReportWriter(request.format.view(for: request), columns: columns)
      var openJobs: Int64?
      writer.begin()
      try await R.ask(question, of: transaction, deadline: timeout) { row in
        openJobs = R.openJobs(row) ?? openJobs
        guard !R.isSum(row) else { return writer.sum { R.put(row, into: &$0) } }
        try writer.row(to: sink) { R.put(row, into: &$0) }
        if writer.rows % Self.progressStep == 0 { progress(writer.rows) }
      }
      try writer.end(meta, to: sink)
      progress(writer.rows)
      return (writer.rows, openJobs)
    }
    switch request.kind {
    case .usage:
      guard let groups = request.groups else {
        return request.scope.hasPrices
          ? try await rows(BilledUsageReport.self, BilledUsageReport.columns)
          : try await rows(UsageReport.self, UsageReport.columns)
      }
      return try await rows(UsageGroupsReport.self, UsageGroupsReport.columns(by: groups.by))
    case .analyses: return try await rows(AnalysesReport.self, AnalysesReport.columns)
    case .conditions: return try await rows(ConditionsReport.self, ConditionsReport.columns)
    case .summary: return try await rows(SummaryReport.self, SummaryReport.columns)
    case .agreement: return try await rows(AgreementReport.self, AgreementReport.columns)
    case .calibration: return try await rows(CalibrationReport.self, CalibrationReport.columns)
    }
  }

  /// The meta of a report; a closed statement is of the moment of its closing, whenever it is written. What is added
  /// up is as it is now, of closed months too.
  private func meta(of request: ReportRequest, zone: String?, _ facts: MonthFacts) -> ReportMeta {
    let isStatement = request.kind == .usage && request.groups == nil
    let moment = isStatement ? facts.closedAt ?? facts.moment : facts.moment
    return ReportMeta(
      kind: request.kind, month: request.month, lastMonth: request.lastMonth, zone: zone,
      state: request.hasState ? facts.state : .draft, generatedAt: moment.rfc3339,
      removedSince: isStatement ? nil : facts.purgedSince,
      scope: request.kind == .usage ? request.scope : UsageScope())
  }

  private func zone(named name: String?) async throws -> String? {
    guard let name else { return nil }
    let statement = SQLFiles.required("server/zone.sql")
    guard let row = try await database.query(statement, [.text(name)], deadline: timeout).first else {
      throw ReportsError(
        .unknownZone, "there is no zone \(printable(name))",
        advice: "give an IANA name such as Asia/Jakarta")
    }
    return try row.string("name")
  }

  /// From how many persons on a count is shown to a login that sees some clinics only; that it does is the database's
  /// to decide.
  private func leastPersons(in database: some Queryable) async throws -> Int {
    let value = try await database.query(
      SQLFunction("setting_value", 1).text, [.text("report_threshold")], deadline: timeout
    ).single().stringIfPresent("setting_value")
    return value.flatMap { Int($0) } ?? 1
  }

  /// The facts of the month; of several, since when the first of their results were removed.
  private func facts(of request: ReportRequest, in database: some Queryable) async throws -> MonthFacts {
    var facts = try await facts(of: request.month, in: database)
    for month in request.groups?.months ?? request.laterMonths where month != request.month {
      let since = try await self.facts(of: month, in: database).purgedSince
      facts.purgedSince = [facts.purgedSince, since].compactMap(\.self).min()
    }
    return facts
  }

  private func facts(of month: Period, in database: some Queryable) async throws -> MonthFacts {
    try MonthFacts(
      try await database.query(
        MonthFacts.function.text, [.int16(month.label), .timestamp(moment)], deadline: timeout
      ).single())
  }

  private func openJobs(of month: Period, in transaction: Transaction) async throws -> Int {
    try await transaction.query(SQLFunction("open_jobs", 1).text, [.int16(month.label)], deadline: timeout)
      .single()
      .int("open_jobs")
  }

  /// Lets the server itself give up a statement that takes too long, for this transaction only.
  func limit(_ transaction: Transaction) async throws {
    _ = try await transaction.query(
      SQLFiles.required("server/timeout.sql"), [.text(String(max(1, timeout.milliseconds)))])
  }
}
