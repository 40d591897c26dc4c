import Support

/// The columns of a table on paper, and how a row of them is measured and drawn.
struct PrintedTable {
  /// A column.
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

  /// Between two columns.
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
