import Support

/// Where on which page the next piece of a document goes. Without a total it only counts the pages.
struct PrintedPages {
  private typealias Paper = BillPrint.Paper

  /// How many pages there are; nil while they are counted and nothing is drawn.
  private let total: Int?
  /// What stands at the foot of each page beside its number.
  private let footer: String
  /// The page, from 1.
  private(set) var number = 1
  private var y = Paper.top
  /// The table whose head is repeated on each page.
  private var table: PrintedTable?

  init(total: Int?, footer: String) {
    self.total = total
    self.footer = footer
  }

  private var isDrawing: Bool { total != nil }

  mutating func skip(_ points: Double) { y += points }

  /// A text as wide as the page, with space below it. What is kept next to it goes to the next page with it.
  mutating func text(
    _ text: String, _ style: PDFCanvas.Style, space: Double, keepingNext next: Double = 0,
    colour: Colour? = nil, on canvas: borrowing PDFCanvas
  ) {
    let height = canvas.height(text, style, width: Paper.textWidth)
    makeRoom(height + space + next, on: canvas)
    if isDrawing {
      canvas.draw(
        text, style, x: Paper.left, y: y, width: Paper.textWidth, isQuiet: style == .note, colour: colour)
    }
    y += height + space
  }

  /// A picture at the left, with space below it.
  mutating func picture(
    _ logo: Bill.Logo, within box: (width: Double, height: Double), space: Double,
    on canvas: borrowing PDFCanvas
  ) {
    let size = logo.size(within: box)
    makeRoom(size.height + space, on: canvas)
    if isDrawing { canvas.draw(logo, x: Paper.left, y: y, width: size.width) }
    y += size.height + space
  }

  /// A drawing of a height, which gets the place where it begins; with space below it. What is kept next to it goes to the next
  /// page with it.
  mutating func drawing(
    _ height: Double, space: Double = 0, keepingNext next: Double = 0, on canvas: borrowing PDFCanvas,
    _ draw: (Double) -> Void
  ) {
    makeRoom(height + space + next, on: canvas)
    if isDrawing { draw(y) }
    y += height + space
  }

  /// A fact with its name before it.
  mutating func fact(
    _ fact: BillWords.Fact, _ style: PDFCanvas.Style = .body, on canvas: borrowing PDFCanvas
  ) {
    let nameWidth = 130.0
    let width = Paper.textWidth - nameWidth
    let height = canvas.height(fact.value, style, width: width)
    makeRoom(height, on: canvas)
    if isDrawing {
      canvas.draw(fact.name, style, x: Paper.left, y: y, width: nameWidth - 6, isQuiet: style != .strong)
      canvas.draw(fact.value, style, x: Paper.left + nameWidth, y: y, width: width)
    }
    y += height + 3
  }

  /// Begins a table: its head is drawn here and on each page that follows.
  mutating func begin(
    _ table: PrintedTable, on canvas: borrowing PDFCanvas
  ) {
    self.table = nil
    makeRoom(40, on: canvas)
    self.table = table
    drawHead(on: canvas)
  }

  /// A row of the table.
  mutating func row(
    _ cells: [String], on canvas: borrowing PDFCanvas
  ) {
    guard let table else { return }
    let height = table.height(cells, .cell, on: canvas)
    makeRoom(height, on: canvas)
    if isDrawing { table.draw(cells, .cell, x: Paper.left, y: y, height: height, on: canvas) }
    y += height
  }

  mutating func endTable() { table = nil }

  /// Ends the last page.
  func end(on canvas: borrowing PDFCanvas) {
    guard let total else { return }
    canvas.rule(x: Paper.left, y: Paper.footer - 6, width: Paper.textWidth, thickness: 0.25)
    canvas.draw(footer, .note, x: Paper.left, y: Paper.footer, width: Paper.textWidth - 90, isQuiet: true)
    canvas.draw(
      "page \(number) of \(total)", .note, x: Paper.left + Paper.textWidth - 90, y: Paper.footer, width: 90,
      .right, isQuiet: true)
    canvas.endPage()
  }

  /// Begins another page where a height does not fit on this one.
  private mutating func makeRoom(
    _ height: Double, on canvas: borrowing PDFCanvas
  ) {
    guard y + height > Paper.bottom, y > Paper.top else { return }
    end(on: canvas)
    number += 1
    y = Paper.top
    drawHead(on: canvas)
  }

  private mutating func drawHead(on canvas: borrowing PDFCanvas) {
    guard let table else { return }
    let titles = table.columns.map(\.title)
    let height = table.height(titles, .head, on: canvas)
    if isDrawing { table.draw(titles, .head, x: Paper.left, y: y, height: height, on: canvas) }
    y += height
  }
}

/// The columns of a table on paper, and how a row of them is measured and drawn.
struct PrintedTable {
  struct Column {
    let title: String
    /// In points, the space between columns included.
    let width: Double
    let alignment: PDFCanvas.Alignment

    init(_ title: String, _ width: Double, _ alignment: PDFCanvas.Alignment = .left) {
      self.title = title
      self.width = width
      self.alignment = alignment
    }
  }

  let columns: [Column]

  private static let gap = 6.0
  /// Above and below the text of a row.
  private static let padding = 2.5

  /// How high a row is.
  func height(_ cells: [String], _ style: PDFCanvas.Style, on canvas: borrowing PDFCanvas) -> Double {
    var height = canvas.lineHeight(style)
    for (cell, column) in zip(cells, columns) {
      height = max(height, canvas.height(cell, style, width: column.width - Self.gap))
    }
    return height + 2 * Self.padding
  }

  /// Draws a row and the line below it.
  func draw(
    _ cells: [String], _ style: PDFCanvas.Style, x: Double, y: Double, height: Double,
    on canvas: borrowing PDFCanvas
  ) {
    var left = x
    for (cell, column) in zip(cells, columns) {
      // The last column ends where the line ends.
      let shift = column.alignment == .right ? Self.gap : 0
      canvas.draw(
        cell, style, x: left + shift, y: y + Self.padding, width: column.width - Self.gap, column.alignment)
      left += column.width
    }
    canvas.rule(x: x, y: y + height, width: left - x, thickness: style == .head ? 0.8 : 0.25)
  }
}
