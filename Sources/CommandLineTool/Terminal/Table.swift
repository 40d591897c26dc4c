import Formatting

/// Rows in aligned columns. Every cell is made printable, so a name out of the database cannot move the cursor.
public struct Table: Sendable {
  /// Which side a column's texts stand on.
  public enum Alignment: Sendable {
    /// For texts.
    case left
    /// For numbers.
    case right
  }

  /// A column's heading and manner.
  public struct Column: Sendable {
    let title: String
    let alignment: Alignment
    let shrinks: Bool
    let mayGo: Bool

    /// Makes a column. One that `shrinks` is cut where the table is wider than the terminal; one that `mayGo` is left
    /// out where that is not enough, the last first.
    public init(_ title: String, alignment: Alignment = .left, shrinks: Bool = false, mayGo: Bool = false) {
      self.title = printable(title)
      self.alignment = alignment
      self.shrinks = shrinks
      self.mayGo = mayGo
    }
  }

  private let columns: [Column]
  private var rows: [[Cell]] = []
  private static let gap = 2
  /// A column is never cut below this, so that something of it can still be read.
  private static let narrowest = 8

  /// Makes an empty table.
  public init(_ columns: [Column]) {
    self.columns = columns
  }

  /// How many rows there are.
  public var count: Int { rows.count }

  /// Adds a row; missing cells are empty, surplus ones are left out.
  public mutating func add(_ cells: [Cell]) {
    rows.append(columns.indices.map { $0 < cells.count ? cells[$0] : Cell("") })
  }

  /// The table as lines, not wider than `width` where that is given and the shrinking columns allow it.
  public func render(width: Int? = nil, paint: Paint = Paint(false)) -> String {
    if let width, let narrower = narrowed(to: width) { return narrower.render(width: width, paint: paint) }
    let widths = fitted(to: width)
    let header = line(columns.map { Cell($0.title, .bold) }, widths, paint)
    return ([header] + rows.map { line($0, widths, paint) }).map { $0 + "\n" }.joined()
  }

  /// The table without the last column that may go; nil if all columns fit, or none may go.
  private func narrowed(to width: Int) -> Table? {
    let needed = fitted(to: width).reduce(0, +) + Self.gap * max(0, columns.count - 1)
    guard needed > width, let gone = columns.lastIndex(where: \.mayGo) else { return nil }
    var columns = columns
    columns.remove(at: gone)
    var table = Table(columns)
    table.rows = rows.map { row in
      var row = row
      row.remove(at: gone)
      return row
    }
    return table
  }

  private func fitted(to width: Int?) -> [Int] {
    var widths = columns.indices.map { index in
      rows.reduce(displayWidth(columns[index].title)) { max($0, displayWidth($1[index].text)) }
    }
    guard let width else { return widths }
    var excess = widths.reduce(0, +) + Self.gap * max(0, columns.count - 1) - width
    while excess > 0 {
      let shrinkable = columns.indices.filter { columns[$0].shrinks && widths[$0] > Self.narrowest }
      guard let widest = shrinkable.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  private func line(_ cells: [Cell], _ widths: [Int], _ paint: Paint) -> String {
    let last = cells.count - 1
    return cells.indices.map { index in
      let text = truncated(cells[index].text, to: widths[index])
      let space = String(repeating: " ", count: max(0, widths[index] - displayWidth(text)))
      let painted = cells[index].colour.map { paint(text, $0) } ?? text
      switch columns[index].alignment {
      case .right: return space + painted
      case .left: return index == last ? painted : painted + space
      }
    }.joined(separator: String(repeating: " ", count: Self.gap))
  }
}

/// One cell of a table.
public struct Cell: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  let text: String
  let colour: Paint.Colour?

  /// A text, perhaps in a colour.
  public init(_ text: String, _ colour: Paint.Colour? = nil) {
    self.text = printable(text)
    self.colour = colour
  }

  /// A number, perhaps in a colour.
  public init(_ number: some BinaryInteger, _ colour: Paint.Colour? = nil) {
    self.init(String(number), colour)
  }

  /// A text.
  public init(stringLiteral text: String) {
    self.init(text)
  }
}
