import PostgreSQL
import Queue
import Support

/// Which statement is asked for.
struct StatementRequest: Sendable, Equatable {
  /// Whose it is.
  enum Holder: Sendable, Equatable {
    /// A clinic's, by its name.
    case clinic(String)
    /// A user's, by their reference.
    case user(String)
  }

  /// Whose it is.
  var holder: Holder
  /// The month.
  var month: Period
  /// The one currency whose lines are asked for; nil where the statement has one only.
  var currency: String?

  /// A request.
  init(_ holder: Holder, month: Period, currency: String? = nil) {
    self.holder = holder
    self.month = month
    self.currency = currency
  }
}

extension Reporter {
  /// Reads a statement, all of it from one snapshot.
  ///
  /// A clinic's tells what was found in its patients, so that it is recorded in the audit first, by `actor` and with
  /// `detail` (a JSON object).
  /// Throws `refused` for a clinic or user that is not there or that the login does not see, and where the lines are in
  /// several currencies and none was asked for; `unreachable`, `database`, `schema` or `interrupted`.
  func statement(
    _ request: StatementRequest, by actor: SQLStatement? = nil, detail: String? = nil
  ) async throws(ReportsError) -> MonthStatement {
    do {
      let reading = try await open(request, actor, detail)
      return try await database.transaction(
        isolation: .repeatableRead, readOnly: true, deadline: timeout
      ) { transaction in
        try await limit(transaction)
        return try await StatementReading(
          request: request, reading: reading, transaction: transaction, timeout: timeout
        ).statement()
      }
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }

  /// Records that a clinic's statement is read, and returns what its conditions are asked for with; nil for a user's.
  private func open(
    _ request: StatementRequest, _ actor: SQLStatement?, _ detail: String?
  ) async throws -> String? {
    guard case .clinic(let clinic) = request.holder else { return nil }
    let opening = SQLFunction("open_statement", 3)
    let statement = SQLStatement(
      opening.text, [.int16(request.month.label), .text(clinic), .jsonb(detail)],
      label: "recording who reads the statement")
    let answers = try await database.pipeline(
      (actor.map { [$0] } ?? []) + [statement], atomic: true, deadline: timeout)
    // Who acts is said first, and answers nothing.
    return try answers.map { try $0.get() }.last?.single().string(opening.columns[0])
  }
}

/// The queries of one statement, in one transaction.
private struct StatementReading {
  let request: StatementRequest
  let reading: String?
  let transaction: Transaction
  let timeout: Duration

  func statement() async throws -> MonthStatement {
    let totals = try await rows(
      SQLFunction(
        "statement_totals", 4, "o_number", "o_holder", "o_closed", "o_at", "o_at_local", "o_zone",
        "o_currency", "o_units", "o_over", "o_amount"), lines)
    let currencies = try totals.compactMap { try $0.stringIfPresent("o_currency") }
    guard currencies.count <= 1 else {
      throw ReportsError(
        .refused, "the statement has lines in \(currencies.joined(separator: " and ")), which do not add up",
        advice: "ask for one of them with --currency")
    }
    guard let first = totals.first else { throw ReportsError(.schema, "the statement has no totals") }
    let all = try await segments()
    return MonthStatement(
      number: try first.stringIfPresent("o_number"), holder: try await holder(first), month: request.month,
      state: try first.bool("o_closed") ? .closed : .draft,
      moment: try first.localTime("o_at", local: "o_at_local"), zone: try first.string("o_zone"),
      currency: currencies.first, lines: all.filter { $0.kind == .month },
      adjustments: all.filter { $0.kind == .adjustment }, total: try total(totals),
      days: try await days(), conditions: try await conditions(), usage: try await plans())
  }

  private func rows(_ function: SQLFunction, _ parameters: [Parameter]) async throws -> Rows {
    try await transaction.query(function.text, parameters, deadline: timeout)
  }

  /// What the functions of the lines are given.
  private var lines: [Parameter] {
    let month = Parameter.int16(request.month.label)
    return switch request.holder {
    case .clinic(let name): [month, .text(name), .text(nil), .text(request.currency)]
    case .user(let name): [month, .text(nil), .text(name), .text(request.currency)]
    }
  }

  private func holder(_ row: Row) async throws -> MonthStatement.Holder {
    let name = try row.string("o_holder")
    guard case .clinic(let clinic) = request.holder else { return .init(.user, name: name) }
    let letterheads = try await rows(
      SQLFunction(
        "statement_letterhead", 2, "o_kind", "o_address", "o_product", "o_logo", "o_logo_width",
        "o_logo_height",
        "o_pharmacy_logo", "o_pharmacy_logo_width", "o_pharmacy_logo_height"),
      [.int16(request.month.label), .text(clinic)])
    guard let letterhead = letterheads.first else { return .init(.clinic, name: name) }
    let kind = ClinicKind(rawValue: try letterhead.string("o_kind")) ?? .clinic
    return .init(
      .clinic, name: name,
      address: try letterhead.stringIfPresent("o_address")?.split(separator: "\n").map(String.init) ?? [],
      logo: kind.logo(
        clinic: try letterhead.logo("o_logo"), pharmacy: try letterhead.logo("o_pharmacy_logo")),
      product: try letterhead.stringIfPresent("o_product"))
  }

  /// Units without a price count with those that have one.
  private func total(_ totals: Rows) throws -> MonthStatement.Total {
    MonthStatement.Total(
      units: try totals.map { try $0.int64("o_units") }.reduce(0, +),
      over: try totals.map { try $0.int64("o_over") }.reduce(0, +),
      amount: try totals.compactMap { try $0.decimalIfPresent("o_amount") }.first)
  }

  private func segments() async throws -> [StatementLine] {
    try await rows(
      SQLFunction(
        "statement_segments", 4, "o_user", "o_for_period", "o_zone", "o_starts", "o_ends", "o_starts_local",
        "o_ends_local", "o_plan", "o_plan_name", "o_limit", "o_units", "o_over", "o_price", "o_amount",
        "o_reason"), lines
    ).map { row in
      let month = try row.month("o_for_period")
      let plan: StatementLine.Plan? =
        if let name = try row.stringIfPresent("o_plan"), let shown = try row.stringIfPresent("o_plan_name") {
          .init(name, displayName: shown)
        } else {
          nil
        }
      let kind: StatementLine.Kind = month == request.month ? .month : .adjustment
      return StatementLine(
        user: try row.string("o_user"), month: month, kind: kind, zone: try row.string("o_zone"),
        from: try row.localTime("o_starts", local: "o_starts_local"),
        until: try row.localTime("o_ends", local: "o_ends_local"), plan: plan,
        limit: kind == .month ? try row.int64IfPresent("o_limit") : nil, units: try row.int64("o_units"),
        over: try row.int64("o_over"), price: try row.decimalIfPresent("o_price"),
        amount: try row.decimalIfPresent("o_amount"), reason: try row.stringIfPresent("o_reason"))
    }
  }

  private func plans() async throws -> [MonthStatement.PlanUsage] {
    try await rows(
      SQLFunction(
        "statement_plans", 4, "o_plan_name", "o_limit", "o_used", "o_under", "o_at", "o_over"), lines
    ).map { row in
      MonthStatement.PlanUsage(
        try row.string("o_plan_name"), limit: try row.int64IfPresent("o_limit"),
        used: try row.int64("o_used"), under: try row.int64("o_under"), at: try row.int64("o_at"),
        over: try row.int64("o_over"))
    }
  }

  private func days() async throws -> [MonthStatement.Day] {
    guard case .clinic(let clinic) = request.holder else { return [] }
    return try await rows(
      SQLFunction("statement_days", 2, "o_day", "o_analyses"),
      [.int16(request.month.label), .text(clinic)]
    ).map { row in
      guard let date = CivilDate(try row.string("o_day")) else {
        throw ReportsError(.schema, "the database answered a day that is none")
      }
      return MonthStatement.Day(date, analyses: try row.int64("o_analyses"))
    }
  }

  private func conditions() async throws -> [MonthStatement.Condition] {
    guard case .clinic(let clinic) = request.holder else { return [] }
    return try await rows(
      SQLFunction(
        "statement_conditions", 3, "o_id", "o_name", "o_green", "o_yellow", "o_orange", "o_red"),
      [.int16(request.month.label), .text(clinic), .text(reading)]
    ).map { row in
      MonthStatement.Condition(
        try row.stringIfPresent("o_name") ?? row.string("o_id"), green: try row.int64("o_green"),
        yellow: try row.int64("o_yellow"), orange: try row.int64("o_orange"), red: try row.int64("o_red"))
    }
  }
}

extension Row {
  fileprivate func logo(_ column: String) throws -> MonthStatement.Logo? {
    guard let bytes = try bytesIfPresent(column) else { return nil }
    return .init(bytes, width: try int("\(column)_width"), height: try int("\(column)_height"))
  }

  /// A number as `numeric` is written. Throws `schema` for a text that is none.
  fileprivate func decimalIfPresent(_ column: String) throws -> DecimalText? {
    guard let text = try stringIfPresent(column) else { return nil }
    guard let number = DecimalText(text) else {
      throw ReportsError(.schema, "the database answered an amount that is no number")
    }
    return number
  }
}
