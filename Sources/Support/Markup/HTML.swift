/// A piece of a page. What is interpolated into one is shown as it is written: markup in it is escaped, and characters
/// that hide or turn words round are left out. A piece that is interpolated into another stands as it is.
///
/// Write it as a literal, `"<td>\(name)</td>"`, and put quotation marks around attributes.
public struct HTML: Sendable, Equatable, ExpressibleByStringInterpolation {
  /// The markup.
  public private(set) var markup: String

  /// A piece that is a literal of the program.
  public init(stringLiteral markup: StaticString) {
    self.markup = markup.description
  }

  /// A piece with what was interpolated.
  public init(stringInterpolation parts: Interpolation) {
    markup = parts.markup
  }

  /// Puts another piece behind it.
  public static func += (left: inout HTML, right: HTML) {
    left.markup += right.markup
  }

  /// The parts of a literal.
  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var markup = ""

    /// Begins a piece.
    public init(literalCapacity: Int, interpolationCount: Int) {
      markup.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    /// Markup of the program's own.
    public mutating func appendLiteral(_ literal: StaticString) {
      literal.withUTF8Buffer { markup += String(decoding: $0, as: UTF8.self) }
    }

    /// Text, escaped. Scalar by scalar: to Swift a sign that is joined with its neighbour, as a quotation mark with an
    /// accent, is another character, and to a browser it is still a quotation mark.
    public mutating func appendInterpolation(_ text: String) {
      for scalar in printable(text).unicodeScalars {
        switch scalar {
        case "&": markup += "&amp;"
        case "<": markup += "&lt;"
        case ">": markup += "&gt;"
        case "\"": markup += "&quot;"
        case "'": markup += "&#39;"
        default: markup.unicodeScalars.append(scalar)
        }
      }
    }

    /// A whole number.
    public mutating func appendInterpolation(_ number: some BinaryInteger) {
      markup += String(number)
    }

    /// Another piece.
    public mutating func appendInterpolation(_ piece: HTML) {
      markup += piece.markup
    }

    /// Pieces, one behind the other; nothing where there is none.
    public mutating func appendInterpolation(_ pieces: some Sequence<HTML>) {
      for piece in pieces { markup += piece.markup }
    }

    /// A piece, where there is one.
    public mutating func appendInterpolation(_ piece: HTML?) {
      if let piece { markup += piece.markup }
    }
  }
}

/// A table of a page: its caption, its columns and its rows. On a phone each row becomes a block in which every cell
/// names its column.
public struct DataTable {
  /// A column.
  public struct Column {
    let title: String
    /// Numbers stand to the right.
    var isNumber = false

    /// A column.
    public init(_ title: String, isNumber: Bool = false) {
      self.title = title
      self.isNumber = isNumber
    }
  }

  /// What the table shows, for whoever does not see what stands around it.
  let caption: String
  let columns: [Column]
  /// What stands there when it has no rows.
  let empty: String
  private var rows: [(cells: [HTML], id: String?)] = []

  /// A table.
  public init(_ caption: String, _ columns: [Column], empty: String) {
    self.caption = caption
    self.columns = columns
    self.empty = empty
  }

  /// Adds a row: a cell for each column. The first one names the row.
  ///
  /// - Parameter id: What the row is of, its own on the page: a page that is brought up to date knows the row by it.
  public mutating func add(_ cells: [HTML], id: String? = nil) {
    rows.append((cells, id))
  }

  /// The table, or what is said where it is empty. Columns in which no row has anything are left out.
  public var html: HTML {
    guard !rows.isEmpty else { return "<p class=\"empty\">\(empty)</p>" }
    let kept = columns.indices.filter { index in rows.contains { !$0.cells[index].markup.isEmpty } }
    let table = DataTable(caption, kept.map { columns[$0] }, empty: empty)
    let lines = rows.map { row in table.row(kept.map { row.cells[$0] }, id: row.id) }
    return "\(table.opening)\(lines)\(closing)"
  }

  /// What comes before the rows, for a table that is too long to be kept: it is written row by row.
  public var opening: HTML {
    """
    <div class="scroll" role="region" aria-label="\(caption)" tabindex="0">
    <table>
    <caption>\(caption)</caption>
    <thead><tr>\(columns.map { column in "<th scope=\"col\"\(Self.style(column))>\(column.title)</th>" as HTML })</tr></thead>
    <tbody>

    """
  }

  /// What comes behind the rows.
  public var closing: HTML { "</tbody>\n</table>\n</div>" }

  /// A row: a cell for each column. The first one names the row.
  public func row(_ cells: [HTML], id: String? = nil) -> HTML {
    var html: HTML = "<tr\(id.map { id in " id=\"\(percentEncoded(id))\"" as HTML })>"
    for (index, (cell, column)) in zip(cells, columns).enumerated() {
      html +=
        index == 0
        ? "<th scope=\"row\" data-column=\"\(column.title)\"\(Self.style(column))>\(cell)</th>"
        : "<td data-column=\"\(column.title)\"\(Self.style(column))>\(cell)</td>"
    }
    html += "</tr>\n"
    return html
  }

  private static func style(_ column: Column) -> HTML {
    column.isNumber ? " class=\"number\"" : ""
  }
}
