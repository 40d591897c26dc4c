import AnalysisCore
import Formatting
import Markup

/// A statement on pages of A4.
///
/// It is laid out twice: first to count the pages, since each one says how many there are, and then to draw them.
struct StatementPrint {
  let statement: MonthStatement
  let words: StatementWords

  init(_ statement: MonthStatement, sha256: String) {
    self.statement = statement
    words = StatementWords(statement, sha256: sha256)
  }

  /// The pages' measures in points.
  enum Paper {
    static let (width, height) = (595.28, 841.89)
    static let (left, top) = (45.0, 45.0)
    static let textWidth = 505.0
    /// Where the text ends and the page's number stands.
    static let (bottom, footer) = (785.0, 800.0)
  }

  /// Passes on the PDF, a chunk a page.
  func write(to sink: ([UInt8]) throws -> Void) throws {
    let canvas = try PDFCanvas(width: Paper.width, height: Paper.height)
    canvas.describe(
      title: "\(words.title), \(StatementWords.short(statement.holder.name)), \(words.month)",
      subject: "\(StatementWords.hashName): \(words.hash.value)", created: statement.moment.text)
    var counted = PrintedPages(total: nil, footer: "")
    try layOut(&counted, on: canvas) { _ in }
    let name = "\(words.title) · \(StatementWords.short(statement.holder.name)) · \(words.month)"
    var pages = PrintedPages(total: counted.number, footer: printable(name, limit: 90))
    try layOut(&pages, on: canvas, to: sink)
    try sink(try canvas.finish())
  }

  private func layOut(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas, to sink: ([UInt8]) throws -> Void
  ) throws {
    if let logo = statement.holder.logo {
      try pages.picture(
        logo, within: (width: 200, height: 60), space: 12, on: canvas, to: sink)
    }
    try pages.text(
      words.title, .title, space: 8, colour: statement.brand?.accent?.light, on: canvas, to: sink)
    for fact in words.facts { try pages.fact(fact, on: canvas, to: sink) }
    pages.skip(10)
    try pages.text("Total", .heading, space: 4, on: canvas, to: sink)
    for fact in words.totals {
      try pages.fact(fact, fact == words.totals.last ? .strong : .body, on: canvas, to: sink)
    }
    // Small enough to stand on one line, from which it can be copied, in the widest digits.
    try pages.fact(words.hash, .note, on: canvas, to: sink)
    try layOutLines(&pages, on: canvas, to: sink)
    try layOutAdjustments(&pages, on: canvas, to: sink)
    try layOutCharts(&pages, on: canvas, to: sink)
    try pages.end(on: canvas, to: sink)
  }

  private func layOutLines(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas, to sink: ([UInt8]) throws -> Void
  ) throws {
    pages.skip(14)
    try pages.text(StatementWords.linesTitle, .heading, space: 3, keepingNext: 60, on: canvas, to: sink)
    guard !statement.lines.isEmpty else {
      return try pages.text(StatementWords.noLines, .body, space: 0, on: canvas, to: sink)
    }
    try pages.text(words.periodNote, .note, space: 3, keepingNext: 40, on: canvas, to: sink)
    let table = PrintedTable(columns: lineColumns)
    try pages.begin(table, on: canvas, to: sink)
    for line in statement.lines {
      let cells = [
        user(line), line.from.short, line.until.short, StatementWords.plan(of: line),
        StatementWords.limit(of: line), String(line.units), String(line.over),
      ]
      try pages.row(cells + costs(line), on: canvas, to: sink)
    }
    pages.endTable()
  }

  private func layOutAdjustments(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas, to sink: ([UInt8]) throws -> Void
  ) throws {
    guard !statement.adjustments.isEmpty else { return }
    pages.skip(14)
    try pages.text(StatementWords.adjustmentsTitle, .heading, space: 3, keepingNext: 40, on: canvas, to: sink)
    try pages.begin(PrintedTable(columns: adjustmentColumns), on: canvas, to: sink)
    for line in statement.adjustments {
      let cells = [
        user(line), line.month.description, StatementWords.plan(of: line),
        StatementWords.short(line.reason ?? StatementWords.none), String(line.units),
      ]
      try pages.row(cells + costs(line), on: canvas, to: sink)
    }
    pages.endTable()
  }

  private func user(_ line: StatementLine) -> String {
    let user = StatementWords.short(line.user)
    return words.zone(of: line).map { "\(user)\n\($0)" } ?? user
  }

  private func costs(_ line: StatementLine) -> [String] {
    guard words.hasPrices else { return [] }
    return [line.price, line.amount].map { $0?.description ?? StatementWords.none }
  }

  /// The widths make up `Paper.textWidth`, with prices and without.
  private var lineColumns: [PrintedTable.Column] {
    let more = words.hasPrices ? 0.0 : 48
    return [
      .init("User", 112 + more), .init("From", 56), .init("Until", 56), .init("Plan", 70 + more),
      .init("Limit", 50, .right), .init("Units", 36, .right), .init("Over", 29, .right),
    ] + costColumns
  }

  private var adjustmentColumns: [PrintedTable.Column] {
    let more = words.hasPrices ? 0.0 : 48
    return [
      .init("User", 112 + more), .init("Month", 44), .init("Plan", 70), .init("Reason", 147 + more),
      .init("Units", 36, .right),
    ] + costColumns
  }

  private var costColumns: [PrintedTable.Column] {
    guard words.hasPrices else { return [] }
    return [
      .init(words.inCurrency("Price"), 42, .right), .init(words.inCurrency("Amount"), 54, .right),
    ]
  }
}
