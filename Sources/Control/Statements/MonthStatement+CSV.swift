public import Support

extension MonthStatement {
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
  func put(_ line: StatementLine, into cells: inout [ReportCell]) {
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
