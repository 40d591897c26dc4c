/// Columns that stand side by side, one for each day for instance: drawn as SVG within a page, or by who draws otherwise.
public struct ColumnChart {
  /// One column.
  public struct Bar {
    /// What stands below it.
    public let label: String
    /// What it is called in words and in the table behind.
    let name: String
    /// Its height, not negative.
    public let value: Int64

    /// A column; its label is its name unless that is given.
    init(_ label: String, _ value: Int64, name: String? = nil) {
      self.label = label
      self.name = name ?? label
      self.value = value
    }
  }

  /// What it shows, and on a page no other does.
  public let title: String
  /// What the bars are by, for the table behind it: `Day`.
  let label: String
  /// What the values are, for the table behind it: `Analyses`.
  let unit: String
  /// The columns in their order.
  public let bars: [Bar]

  init(_ title: String, label: String, unit: String, bars: [Bar]) {
    self.title = title
    self.label = label
    self.unit = unit
    self.bars = bars
  }

  /// What the highest line of the scale stands for.
  public var top: Double { Chart.roundedUp(Double(max(1, bars.map(\.value).max() ?? 0))) }

  private static let width = 640
  private static let height = 190
  /// Where the columns stand.
  private static let (left, right, top, floor) = (44, 636, 20, 164)

  /// The chart.
  public var html: HTML {
    let most = top
    let half = (Self.top + Self.floor) / 2
    return """
      <figure>
      <figcaption>\(title)</figcaption>
      <svg class="drawn" viewBox="0 0 \(Self.width) \(Self.height)" role="img">
      <title>\(summary)</title>
      \([(Self.top, most), (half, most / 2)].map { y, value in grid(y, Chart.shown(value)) })
      \(bars.indices.map { index in column(index, most: most) })
      <line class="axis" x1="\(Self.left)" y1="\(Self.floor)" x2="\(Self.right)" y2="\(Self.floor)"/>
      </svg>
      <details><summary>\(title) as a table</summary>
      \(table)</details>
      </figure>
      """
  }

  /// It in a sentence.
  public var summary: String {
    guard let highest = bars.max(by: { $0.value < $1.value }) else { return "\(title): none" }
    let sum = bars.reduce(0) { $0 + $1.value }
    return "\(title): \(sum) in all, the most \(highest.value), at \(highest.name)"
  }

  private var table: HTML {
    var table = DataTable(title, [.init(label), .init(unit, isNumber: true)], empty: "Nothing.")
    for bar in bars { table.add(["\(bar.name)", "\(bar.value)"]) }
    return table.html
  }

  private func grid(_ y: Int, _ text: String) -> HTML {
    """
    <line class="grid" x1="\(Self.left)" y1="\(y)" x2="\(Self.right)" y2="\(y)"/>\
    <text class="scale" x="\(Self.left - 6)" y="\(y + 3)">\(text)</text>

    """
  }

  private func column(_ index: Int, most: Double) -> HTML {
    let bar = bars[index]
    let pitch = (Self.right - Self.left) / max(1, bars.count)
    let x = Self.left + index * (Self.right - Self.left) / max(1, bars.count)
    let height = Int((Double(bar.value) / most * Double(Self.floor - Self.top)).rounded())
    let middle = x + pitch / 2
    // A number is written above its column where it does not run into the next one's.
    let isShown = bar.value > 0 && String(bar.value).utf8.count * 6 <= pitch + 2
    let number: HTML? =
      isShown
      ? "<text class=\"value\" x=\"\(middle)\" y=\"\(Self.floor - height - 4)\">\(bar.value)</text>" : nil
    return """
      <rect class="bar" x="\(x + 1)" y="\(Self.floor - height)" width="\(max(1, pitch - 3))" height="\(height)"/>\
      \(number)<text class="value" x="\(middle)" y="\(Self.floor + 14)">\(bar.label)</text>

      """
  }
}
