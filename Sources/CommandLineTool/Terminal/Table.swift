public import Support

/// Rows in aligned columns. Every cell is made printable, so a name out of the database cannot move the cursor.
public struct Table: Sendable {
  /// Which side a column's texts stand on.
  public enum Alignment: Sendable {
    case left
    case right
  }

  /// A column's heading and manner.
  public struct Column: Sendable {
    let title: String
    let alignment: Alignment
    let shrinks: Bool
    let wraps: Bool
    let mayGo: Bool
    /// How narrow it may become, so that something of it can still be read; nil where it keeps its width.
    let narrowest: Int?

    /// Makes a column. One that `shrinks` is cut where the table is wider than the terminal. One that `wraps` goes on
    /// in the next line instead: it names the row, and is never cut. Either stays as wide as `least`. One that `mayGo`
    /// is left out where that is not enough, the last first.
    public init(
      _ title: String, alignment: Alignment = .left, shrinks: Bool = false, wraps: Bool = false,
      least: Int? = nil, mayGo: Bool = false
    ) {
      self.title = printable(title)
      self.alignment = alignment
      self.shrinks = shrinks
      self.wraps = wraps
      self.mayGo = mayGo
      narrowest = least ?? (wraps ? 10 : shrinks ? 8 : nil)
    }
  }

  private var columns: [Column]
  private var rows: [[Cell]] = []
  private static let gap = 2

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

  /// The table as lines, not wider than `width` where that is given and the shrinking columns allow it. A last line
  /// names the columns that were left out.
  public func render(width: Int? = nil, paint: Paint = Paint(false)) -> String {
    var table = self
    var leftOut: [String] = []
    while let width, let gone = table.surplus(beyond: width) { leftOut.insert(table.remove(gone), at: 0) }
    guard let width, !leftOut.isEmpty else { return table.lines(width, paint) }
    let note = "Left out, for the terminal is too narrow: \(leftOut.joined(separator: ", "))."
    return table.lines(width, paint) + paragraph(note, to: width).map { paint.dim($0) + "\n" }.joined()
  }

  private func lines(_ width: Int?, _ paint: Paint) -> String {
    let widths = fitted(to: width)
    let header = line(columns.map { Cell($0.title, .bold) }, widths, paint)
    return ([header] + rows.map { line($0, widths, paint) }).map { $0 + "\n" }.joined()
  }

  /// The last column that may go, where the table is wider than that.
  private func surplus(beyond width: Int) -> Int? {
    let needed = fitted(to: width).reduce(0, +) + Self.gap * max(0, columns.count - 1)
    return needed > width ? columns.lastIndex(where: \.mayGo) : nil
  }

  /// Leaves out a column, and answers its title.
  private mutating func remove(_ column: Int) -> String {
    for row in rows.indices { rows[row].remove(at: column) }
    return columns.remove(at: column).title
  }

  private func fitted(to width: Int?) -> [Int] {
    var widths = columns.indices.map { index in
      rows.reduce(displayWidth(columns[index].title)) { max($0, displayWidth($1[index].text)) }
    }
    guard let width else { return widths }
    var excess = widths.reduce(0, +) + Self.gap * max(0, columns.count - 1) - width
    while excess > 0 {
      let narrowable = columns.indices.filter { widths[$0] > columns[$0].narrowest ?? .max }
      // What names the row is the last to be broken.
      let cut = narrowable.filter { !columns[$0].wraps }
      guard let widest = (cut.isEmpty ? narrowable : cut).max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  /// A row: a line, or more where a cell goes on in the next.
  private func line(_ cells: [Cell], _ widths: [Int], _ paint: Paint) -> String {
    let parts = cells.indices.map { index in
      columns[index].wraps
        ? paragraph(cells[index].text, to: widths[index])
        : [truncated(cells[index].text, to: widths[index])]
    }
    return (0..<(parts.map(\.count).max() ?? 0)).map { row in
      let texts = parts.map { row < $0.count ? $0[row] : "" }
      // No blanks behind what goes on.
      let last = row == 0 ? cells.count - 1 : texts.lastIndex { !$0.isEmpty } ?? 0
      return (0...last).map { index in
        let text = texts[index]
        let space = String(repeating: " ", count: max(0, widths[index] - displayWidth(text)))
        let painted = text.isEmpty ? text : cells[index].colour.map { paint(text, $0) } ?? text
        switch columns[index].alignment {
        case .right: return space + painted
        case .left: return index == last ? painted : painted + space
        }
      }.joined(separator: String(repeating: " ", count: Self.gap))
    }.joined(separator: "\n")
  }

  /// A text in parts that are not wider than that; one part at least.
  fileprivate static func broken(_ text: String, to width: Int) -> [String] {
    var parts = [""]
    var used = 0
    for character in text {
      let wide = displayWidth(String(character))
      if used + wide > width, used > 0 {
        parts.append("")
        used = 0
      }
      parts[parts.count - 1].append(character)
      used += wide
    }
    return parts
  }
}

/// A column of a list: how people see it, what programs call it, or both.
public struct ListColumn<Row>: Sendable {
  fileprivate private(set) var shown: (column: Table.Column, cell: @Sendable (Row) -> Cell)?
  fileprivate private(set) var members: [(name: String, value: @Sendable (Row) -> JSONValue)] = []

  /// Makes a column as ``Table/Column`` does.
  public init(
    _ title: String, alignment: Table.Alignment = .left, shrinks: Bool = false, wraps: Bool = false,
    least: Int? = nil, mayGo: Bool = false, cell: @escaping @Sendable (Row) -> Cell
  ) {
    shown = (
      .init(title, alignment: alignment, shrinks: shrinks, wraps: wraps, least: least, mayGo: mayGo), cell
    )
  }

  /// Makes a column that only programs see.
  public init(json name: String, _ value: @escaping @Sendable (Row) -> JSONValue) {
    members = [(name, value)]
  }

  /// The column with a name and a value for programs, behind those that it has.
  public func json(_ name: String, _ value: @escaping @Sendable (Row) -> JSONValue) -> Self {
    var column = self
    column.members.append((name, value))
    return column
  }
}

extension Sequence {
  /// A table with a row for each element.
  public func table(_ columns: [ListColumn<Element>]) -> Table {
    let shown = columns.compactMap(\.shown)
    var table = Table(shown.map(\.column))
    for row in self { table.add(shown.map { $0.cell(row) }) }
    return table
  }

  /// An array with an object for each element.
  public func json(_ columns: [ListColumn<Element>]) -> JSONValue {
    let members = columns.flatMap(\.members)
    return .array(map { row in .object(members.map { .init(name: $0.name, value: $0.value(row)) }) })
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

/// Breaks a text that is printable into lines of at most `width` columns, at spaces; a longer word within itself. One
/// line at least.
public func paragraph(_ text: String, to width: Int) -> [String] {
  let lines = wrapped(text, to: width).flatMap { Table.broken($0, to: width) }
  return lines.isEmpty ? [""] : lines
}
