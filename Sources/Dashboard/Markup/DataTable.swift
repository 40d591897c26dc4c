/// A table of a page: its caption, its columns and its rows. On a phone each row becomes a block in which every cell
/// names its column.
struct DataTable {
  /// A column.
  struct Column {
    let title: String
    /// Numbers stand to the right.
    var isNumber = false

    init(_ title: String, isNumber: Bool = false) {
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

  init(_ caption: String, _ columns: [Column], empty: String) {
    self.caption = caption
    self.columns = columns
    self.empty = empty
  }

  /// Adds a row: a cell for each column. The first one names the row.
  mutating func add(_ cells: [HTML]) {
    rows.append(cells)
  }

  /// The table, or what is said where it is empty.
  var html: HTML {
    guard !rows.isEmpty else { return "<p class=\"empty\">\(empty)</p>" }
    return """
      <div class="scroll" role="region" aria-label="\(caption)" tabindex="0">
      <table>
      <caption>\(caption)</caption>
      <thead><tr>\(columns.map { column in "<th scope=\"col\"\(Self.style(column))>\(column.title)</th>" as HTML })</tr></thead>
      <tbody>
      \(rows.map(row))</tbody>
      </table>
      </div>
      """
  }

  private func row(_ cells: [HTML]) -> HTML {
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
