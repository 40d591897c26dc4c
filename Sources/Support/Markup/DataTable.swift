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
  private var rows: [[HTML]] = []

  /// A table.
  public init(_ caption: String, _ columns: [Column], empty: String) {
    self.caption = caption
    self.columns = columns
    self.empty = empty
  }

  /// Adds a row: a cell for each column. The first one names the row.
  public mutating func add(_ cells: [HTML]) {
    rows.append(cells)
  }

  /// The table, or what is said where it is empty.
  public var html: HTML {
    guard !rows.isEmpty else { return "<p class=\"empty\">\(empty)</p>" }
    return "\(opening)\(rows.map(row))\(closing)"
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
  public func row(_ cells: [HTML]) -> HTML {
    var html: HTML = "<tr>"
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
