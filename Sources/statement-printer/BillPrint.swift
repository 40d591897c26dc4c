import Support

/// A statement on pages of A4.
///
/// It is laid out twice: first to count the pages, since each one says how many there are, and then to draw them.
struct BillPrint {
  let bill: Bill
  let words: BillWords

  /// A statement and the SHA-256 of its data.
  init(_ bill: Bill, sha256: String) {
    self.bill = bill
    words = BillWords(bill, sha256: sha256)
  }

  /// The pages' measures in points.
  enum Paper {
    static let (width, height) = (595.28, 841.89)
    static let (left, top) = (45.0, 45.0)
    static let textWidth = 505.0
    /// Where the text ends and the page's number stands.
    static let (bottom, footer) = (785.0, 800.0)
  }

  func pdf() throws(PrintingError) -> [UInt8] {
    let canvas = try PDFCanvas(width: Paper.width, height: Paper.height)
    canvas.describe(
      title: "\(words.title), \(BillWords.short(bill.holder.name)), \(words.month)",
      subject: "\(BillWords.hashName): \(words.hash.value)", created: bill.moment.text)
    var counted = PrintedPages(total: nil, footer: "")
    layOut(&counted, on: canvas)
    let name = "\(words.title) · \(BillWords.short(bill.holder.name)) · \(words.month)"
    var pages = PrintedPages(total: counted.number, footer: printable(name, limit: 90))
    layOut(&pages, on: canvas)
    return try canvas.finish()
  }

  private func layOut(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    if let logo = bill.holder.logo {
      pages.picture(
        logo, within: (width: 200, height: 60), space: 12, on: canvas)
    }
    pages.text(
      words.title, .title, space: 8, colour: bill.brand?.accent?.light, on: canvas)
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
    pages.text(BillWords.linesTitle, .heading, space: 3, keepingNext: 60, on: canvas)
    guard !bill.lines.isEmpty else {
      return pages.text(BillWords.noLines, .body, space: 0, on: canvas)
    }
    pages.text(words.periodNote, .note, space: 3, keepingNext: 40, on: canvas)
    let table = PrintedTable(columns: lineColumns)
    pages.begin(table, on: canvas)
    for line in bill.lines {
      let cells = [
        user(line), line.from.short, line.until.short, BillWords.plan(of: line),
        BillWords.limit(of: line), String(line.units), String(line.over),
      ]
      pages.row(cells + costs(line), on: canvas)
    }
    pages.endTable()
  }

  private func layOutAdjustments(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    guard !bill.adjustments.isEmpty else { return }
    pages.skip(14)
    pages.text(BillWords.adjustmentsTitle, .heading, space: 3, keepingNext: 40, on: canvas)
    pages.begin(PrintedTable(columns: adjustmentColumns), on: canvas)
    for line in bill.adjustments {
      let cells = [
        user(line), line.month.description, BillWords.plan(of: line),
        BillWords.short(line.reason ?? BillWords.none), String(line.units),
      ]
      pages.row(cells + costs(line), on: canvas)
    }
    pages.endTable()
  }

  private func user(_ line: BillLine) -> String {
    let user = BillWords.short(line.user)
    return words.zone(of: line).map { "\(user)\n\($0)" } ?? user
  }

  private func costs(_ line: BillLine) -> [String] {
    guard words.hasPrices else { return [] }
    return [line.price, line.amount].map { $0?.description ?? BillWords.none }
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
struct PrintingError: Error {
  let message: String
  /// What to do about it, where that is known.
  let advice: String?

  init(_ message: String, advice: String? = nil) {
    self.message = message
    self.advice = advice
  }
}

/// The charts on paper. Each part has a pattern, and what finds room is written on it: they are read without colours.
extension BillPrint {
  /// Lays out the charts of what is known.
  func layOutCharts(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    let charts = BillCharts(bill)
    guard charts.days != nil || charts.conditions != nil || charts.usage != nil else { return }
    pages.skip(14)
    pages.text(BillCharts.title, .heading, space: 4, keepingNext: 150, on: canvas)
    if let days = charts.days { layOut(days, &pages, on: canvas) }
    for chart in [charts.conditions, charts.usage].compactMap(\.self) {
      layOut(chart, &pages, on: canvas)
    }
  }

  private func layOut(
    _ chart: ColumnChart, _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    let (height, left) = (100.0, 34.0)
    let note = canvas.lineHeight(.note)
    pages.text(chart.title, .strong, space: 2, keepingNext: height + 3 * note, on: canvas)
    pages.text(chart.summary, .note, space: 4, keepingNext: height + 2 * note, on: canvas)
    pages.drawing(height + 2 * note, space: 12, on: canvas) { top in
      let (x, width) = (Paper.left + left, Paper.textWidth - left)
      let floor = top + note + height
      for (part, value) in [(1.0, chart.top), (0.5, chart.top / 2)] {
        let y = floor - height * part
        canvas.rule(x: x, y: y, width: width, thickness: 0.25)
        canvas.draw(
          Chart.shown(value), .note, x: Paper.left, y: y - note / 2, width: left - 6, .right, isQuiet: true)
      }
      let pitch = width / Double(max(1, chart.bars.count))
      for (index, bar) in chart.bars.enumerated() {
        let place = x + Double(index) * pitch
        let high = Double(bar.value) / chart.top * height
        if bar.value > 0 {
          canvas.box(.solid, x: place + 1, y: floor - high, width: max(0.5, pitch - 2), height: high)
          canvas.number(String(bar.value), x: place - 1, y: floor - high - note, width: pitch + 2)
        }
        canvas.draw(bar.label, .note, x: place - 4, y: floor + 1, width: pitch + 8, .centre)
      }
      canvas.rule(x: x, y: floor, width: width, thickness: 0.5)
    }
  }

  private func layOut(
    _ chart: BarChart, _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    let note = canvas.lineHeight(.note)
    let (name, most, high) = (130.0, 230.0, note + 5)
    let heights = chart.bars.map { bar in
      max(
        bar.line.isEmpty ? high : high + note + 1, canvas.height(bar.name, .note, width: name) + 2)
    }
    // Two bars stand together at least, at the chart's beginning as at its end.
    let space = 4.0
    let first = heights.prefix(heights.count == 3 ? 3 : 2).reduce(0) { $0 + $1 + space }
    pages.text(chart.title, .strong, space: 2, keepingNext: note + 5 + first, on: canvas)
    pages.drawing(note, space: 5, keepingNext: first, on: canvas) { y in
      var x = Paper.left + name + 8
      for part in chart.parts {
        canvas.box(part.fill, x: x, y: y, width: 18, height: note)
        canvas.draw(part.name, .note, x: x + 22, y: y, width: 110)
        x += 40 + Double(part.name.utf8.count) * PDFCanvas.Style.note.size * 0.6
      }
    }
    for (index, bar) in chart.bars.enumerated() {
      let next = index == chart.bars.count - 2 ? heights[index + 1] : 0
      pages.drawing(heights[index], space: space, keepingNext: next, on: canvas) { y in
        let start = Paper.left + name + 8
        canvas.draw(bar.name, .note, x: Paper.left, y: y + 2, width: name, .right)
        let scale = most / Double(max(1, chart.most(bar)))
        var x = start
        for (part, value) in zip(chart.parts, bar.values) where value > 0 {
          let width = max(0.5, Double(value) * scale)
          canvas.box(part.fill, x: x, y: y, width: width, height: high)
          canvas.number(String(value), x: x, y: y + 2.5, width: width)
          x += width
        }
        canvas.draw(
          bar.note, .note, x: x + 6, y: y + 2, width: Paper.left + Paper.textWidth - x - 6, isQuiet: true)
        canvas.draw(
          bar.line, .note, x: start, y: y + high + 1, width: Paper.textWidth - name - 8, isQuiet: true)
      }
    }
    pages.skip(8)
  }
}
