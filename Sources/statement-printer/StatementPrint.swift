package import Support

/// A statement on pages of A4.
///
/// It is laid out twice: first to count the pages, since each one says how many there are, and then to draw them.
package struct StatementPrint {
  let statement: MonthStatement
  let words: StatementWords

  /// A statement and the SHA-256 of its data.
  package init(_ statement: MonthStatement, sha256: String) {
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

  /// Draws the PDF.
  package func pdf() throws(PrintingError) -> [UInt8] {
    let canvas = try PDFCanvas(width: Paper.width, height: Paper.height)
    canvas.describe(
      title: "\(words.title), \(StatementWords.short(statement.holder.name)), \(words.month)",
      subject: "\(StatementWords.hashName): \(words.hash.value)", created: statement.moment.text)
    var counted = PrintedPages(total: nil, footer: "")
    layOut(&counted, on: canvas)
    let name = "\(words.title) · \(StatementWords.short(statement.holder.name)) · \(words.month)"
    var pages = PrintedPages(total: counted.number, footer: printable(name, limit: 90))
    layOut(&pages, on: canvas)
    return try canvas.finish()
  }

  private func layOut(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    if let logo = statement.holder.logo {
      pages.picture(
        logo, within: (width: 200, height: 60), space: 12, on: canvas)
    }
    pages.text(
      words.title, .title, space: 8, colour: statement.brand?.accent?.light, on: canvas)
    for fact in words.facts { pages.fact(fact, on: canvas) }
    pages.skip(10)
    pages.text("Total", .heading, space: 4, on: canvas)
    for fact in words.totals {
      pages.fact(fact, fact == words.totals.last ? .strong : .body, on: canvas)
    }
    // Small enough to stand on one line, from which it can be copied, in the widest digits.
    pages.fact(words.hash, .note, on: canvas)
    layOutLines(&pages, on: canvas)
    layOutAdjustments(&pages, on: canvas)
    layOutCharts(&pages, on: canvas)
    pages.end(on: canvas)
  }

  private func layOutLines(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    pages.skip(14)
    pages.text(StatementWords.linesTitle, .heading, space: 3, keepingNext: 60, on: canvas)
    guard !statement.lines.isEmpty else {
      return pages.text(StatementWords.noLines, .body, space: 0, on: canvas)
    }
    pages.text(words.periodNote, .note, space: 3, keepingNext: 40, on: canvas)
    let table = PrintedTable(columns: lineColumns)
    pages.begin(table, on: canvas)
    for line in statement.lines {
      let cells = [
        user(line), line.from.short, line.until.short, StatementWords.plan(of: line),
        StatementWords.limit(of: line), String(line.units), String(line.over),
      ]
      pages.row(cells + costs(line), on: canvas)
    }
    pages.endTable()
  }

  private func layOutAdjustments(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    guard !statement.adjustments.isEmpty else { return }
    pages.skip(14)
    pages.text(StatementWords.adjustmentsTitle, .heading, space: 3, keepingNext: 40, on: canvas)
    pages.begin(PrintedTable(columns: adjustmentColumns), on: canvas)
    for line in statement.adjustments {
      let cells = [
        user(line), line.month.description, StatementWords.plan(of: line),
        StatementWords.short(line.reason ?? StatementWords.none), String(line.units),
      ]
      pages.row(cells + costs(line), on: canvas)
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

/// Why there is no PDF, without a word of what is in it.
package struct PrintingError: Error {
  /// What happened.
  package let message: String
  /// What to do about it, where that is known.
  package let advice: String?

  init(_ message: String, advice: String? = nil) {
    self.message = message
    self.advice = advice
  }
}
