public import PostgreSQL
import Queue
public import Support

/// Which statement is asked for.
struct BillRequest: Sendable, Equatable {
  enum Holder: Sendable, Equatable {
    /// A clinic's, by its name.
    case clinic(String)
    /// A user's, by their reference.
    case user(String)
  }

  var holder: Holder
  var month: Period
  /// The one currency whose lines are asked for; nil where the statement has one only.
  var currency: String?

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
  func bill(
    _ request: BillRequest, by actor: SQLStatement? = nil, detail: String? = nil
  ) async throws(ReportsError) -> Bill {
    do {
      let reading = try await open(request, actor, detail)
      return try await database.transaction(
        isolation: .repeatableRead, readOnly: true, deadline: timeout
      ) { transaction in
        try await limit(transaction)
        return try await BillReading(
          request: request, reading: reading, transaction: transaction, timeout: timeout
        ).bill()
      }
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }

  /// Records that a clinic's statement is read, and returns what its conditions are asked for with; nil for a user's.
  private func open(
    _ request: BillRequest, _ actor: SQLStatement?, _ detail: String?
  ) async throws -> String? {
    guard case .clinic(let clinic) = request.holder else { return nil }
    let opening = SQLFunction("open_statement", 3)
    let statement = SQLStatement(
      opening.text, [.int16(request.month.label), .text(clinic), .jsonb(detail)],
      label: "recording who reads the statement")
    let answers = try await database.pipeline(
      (actor.map { [$0] } ?? []) + [statement], atomic: true, deadline: timeout)
    // Who acts is said first, and answers nothing.
    return try answers.map { try $0.get() }.last?.decode(String.self)
  }
}

/// The queries of one statement, in one transaction.
private struct BillReading {
  let request: BillRequest
  let reading: String?
  let transaction: Transaction
  let timeout: Duration

  private struct Totals: Decodable {
    let number, currency: String?
    let holder, zone: String
    let closed: Bool
    let at, atLocal: Timestamp
    let units, over: Int64
    let amount: DecimalText?
  }

  func bill() async throws -> Bill {
    let totals = try await read(SQLFunction("statement_totals", 4), lines, as: [Totals].self)
    let currencies = totals.compactMap(\.currency)
    guard currencies.count <= 1 else {
      throw ReportsError(
        .refused, "the statement has lines in \(currencies.joined(separator: " and ")), which do not add up",
        advice: "ask for one of them with --currency")
    }
    guard let first = totals.first else { throw ReportsError(.schema, "the statement has no totals") }
    let all = try await segments()
    return Bill(
      number: first.number, holder: try await holder(first.holder), month: request.month,
      state: first.closed ? .closed : .draft, moment: LocalTime(first.at, local: first.atLocal),
      zone: first.zone, currency: currencies.first, lines: all.filter { $0.kind == .month },
      adjustments: all.filter { $0.kind == .adjustment },
      // Units without a price count with those that have one.
      total: .init(
        units: totals.map(\.units).reduce(0, +), over: totals.map(\.over).reduce(0, +),
        amount: totals.compactMap(\.amount).first),
      days: try await days(), conditions: try await conditions(),
      usage: try await read(SQLFunction("statement_plans", 4), lines, as: [Bill.PlanUsage].self))
  }

  private func read<Answer: Decodable>(
    _ function: SQLFunction, _ parameters: [Parameter], as type: Answer.Type
  ) async throws -> Answer {
    try await transaction.query(function.text, parameters, deadline: timeout).decode(type)
  }

  /// What the functions of the lines are given.
  private var lines: [Parameter] {
    let month = Parameter.int16(request.month.label)
    return switch request.holder {
    case .clinic(let name): [month, .text(name), .text(nil), .text(request.currency)]
    case .user(let name): [month, .text(nil), .text(name), .text(request.currency)]
    }
  }

  private struct Letterhead: Decodable {
    let kind: ClinicKind
    let address, product: String?
    let logo, pharmacyLogo: [UInt8]?
    let logoWidth, logoHeight, pharmacyLogoWidth, pharmacyLogoHeight: Int?
  }

  private func holder(_ name: String) async throws -> Bill.Holder {
    guard case .clinic(let clinic) = request.holder else { return .init(.user, name: name) }
    let found = try await read(
      SQLFunction("statement_letterhead", 2), [.int16(request.month.label), .text(clinic)],
      as: Letterhead?.self)
    guard let found else { return .init(.clinic, name: name) }
    func logo(_ bytes: [UInt8]?, _ width: Int?, _ height: Int?) -> Bill.Logo? {
      guard let bytes, let width, let height else { return nil }
      return .init(bytes, width: width, height: height)
    }
    return .init(
      .clinic, name: name, address: found.address?.split(separator: "\n").map(String.init) ?? [],
      logo: found.kind.logo(
        clinic: logo(found.logo, found.logoWidth, found.logoHeight),
        pharmacy: logo(found.pharmacyLogo, found.pharmacyLogoWidth, found.pharmacyLogoHeight)),
      product: found.product)
  }

  private struct Segment: Decodable {
    let user, zone: String
    let forPeriod: Period
    let span: Span
    let plan, planName, reason: String?
    let limit: Int64?
    let units, over: Int64
    let price, amount: DecimalText?
  }

  private func segments() async throws -> [BillLine] {
    try await read(SQLFunction("statement_segments", 4), lines, as: [Segment].self).map { row in
      var plan: BillLine.Plan?
      if let name = row.plan, let shown = row.planName { plan = .init(name, displayName: shown) }
      let kind: BillLine.Kind = row.forPeriod == request.month ? .month : .adjustment
      return BillLine(
        user: row.user, month: row.forPeriod, kind: kind, zone: row.zone, from: row.span.from,
        until: row.span.until, plan: plan, limit: kind == .month ? row.limit : nil, units: row.units,
        over: row.over, price: row.price, amount: row.amount, reason: row.reason)
    }
  }

  private struct Day: Decodable {
    let day: String
    let analyses: Int64
  }

  private func days() async throws -> [Bill.Day] {
    guard case .clinic(let clinic) = request.holder else { return [] }
    let days = try await read(
      SQLFunction("statement_days", 2), [.int16(request.month.label), .text(clinic)], as: [Day].self)
    return try days.map { row in
      guard let date = CivilDate(row.day) else {
        throw ReportsError(.schema, "the database answered a day that is none")
      }
      return Bill.Day(date, analyses: row.analyses)
    }
  }

  private struct Condition: Decodable {
    let id: String
    let name: String?
    let normal: Bool
    let green, yellow, orange, red: Int64
  }

  private func conditions() async throws -> [Bill.Condition] {
    guard case .clinic(let clinic) = request.holder else { return [] }
    return try await read(
      SQLFunction("statement_conditions", 3),
      [.int16(request.month.label), .text(clinic), .text(reading)], as: [Condition].self
    ).map {
      .init(
        $0.name ?? $0.id, green: $0.green, yellow: $0.yellow, orange: $0.orange, red: $0.red,
        isNormal: $0.normal)
    }
  }
}

extension Bill.PlanUsage: RenamedColumns {
  /// It is the plan's name for people.
  public static let columns = ["plan": "planName"]
}

extension DecimalText: ColumnValue {
  /// A number as `numeric` is written. Throws `schema` for a text that is none.
  public init(stored: String) throws {
    guard let number = DecimalText(stored) else {
      throw ReportsError(.schema, "the database answered an amount that is no number")
    }
    self = number
  }
}

extension Bill {
  /// The columns of the data. They never change, since programs read them, and the SHA-256 is theirs.
  static let columns: [Column] = [
    .text("user", "User"),
    .text("month", "Month"),
    .text("line", "Line"),
    .text("zone", "Zone"),
    .text("from", "From"),
    .text("until", "Until"),
    .text("plan", "Plan"),
    .text("plan_name", "Plan's name"),
    .number("limit", "Limit"),
    .number("units", "Units"),
    .number("over", "Over"),
    .number("price", "Price"),
    .number("amount", "Amount"),
    .text("currency", "Currency"),
    .text("reason", "Reason"),
  ]

  /// Passes on the data as CSV, in chunks of whole lines: a line for each segment, one for each adjustment, and one
  /// with the totals. The same statement makes the same bytes.
  func writeCSV(to sink: (_ chunk: [UInt8]) throws -> Void) rethrows {
    var writer = ReportWriter(CSVView(excel: false), columns: Self.columns)
    writer.begin()
    for line in lines { try writer.row(to: sink) { put(line, into: &$0) } }
    for line in adjustments { try writer.row(to: sink) { put(line, into: &$0) } }
    try writer.row(to: sink) { putTotal(into: &$0) }
    let meta = ReportMeta(
      kind: .usage, month: month, zone: zone, state: state, generatedAt: moment.text, removedSince: nil)
    try writer.end(meta, to: sink)
  }

  /// The SHA-256 of the data, which is that of the CSV's bytes, in lower-case hexadecimal. Every format names it.
  public var sha256: String {
    var hash = SHA256()
    writeCSV { hash.update($0.span.bytes) }
    return Hexadecimal.text(of: hash.digest)
  }

  /// The cells of a line.
  func put(_ line: BillLine, into cells: inout [ReportCell]) {
    cells += [
      .text(line.user), .text(line.month.description), .text(line.kind.rawValue), .text(line.zone),
      .time(line.from), .time(line.until), ReportCell(line.plan?.name), ReportCell(line.plan?.displayName),
      ReportCell(line.limit), .integer(line.units), .integer(line.over), ReportCell(line.price),
      ReportCell(line.amount),
      line.price == nil ? .absent : ReportCell(currency), ReportCell(line.reason),
    ]
  }

  private func putTotal(into cells: inout [ReportCell]) {
    cells += [
      .absent, .text(month.description), .text("total"), .absent, .absent, .absent, .absent, .absent, .absent,
      .integer(total.units), .integer(total.over), .absent, ReportCell(total.amount),
      total.amount == nil ? .absent : ReportCell(currency), .absent,
    ]
  }
}
