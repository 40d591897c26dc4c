/// Shares below each other, each a point on a line from 0 to 100 % with the interval in which it lies, drawn as SVG
/// within the page. What it shows has to stand in a table beside it too.
public struct IntervalChart {
  /// A share with its interval.
  public struct Line {
    let name: String
    let share, low, high: Double
    let note: String

    /// A line.
    public init(_ name: String, share: Double, low: Double, high: Double, note: String) {
      self.name = name
      self.share = share
      self.low = low
      self.high = high
      self.note = note
    }
  }

  /// What it shows, and on a page no other does.
  let title: String
  let lines: [Line]

  /// A chart.
  public init(_ title: String, lines: [Line]) {
    self.title = title
    self.lines = lines
  }

  private static let width = 640
  private static let rowHeight = 24
  private static let (left, right, top) = (190, 520, 20)

  /// The chart.
  public var html: HTML {
    let floor = Self.top + lines.count * Self.rowHeight
    return .drawn(
      title, summary, width: Self.width, height: floor + 8,
      """
      \([0, 25, 50, 75, 100].map { percent in Self.grid(percent, floor) })
      \(lines.indices.map(row))
      """)
  }

  private var summary: String {
    let rows = lines.map { line in
      "\(line.name): \(percent(line.share)), between \(percent(line.low)) and \(percent(line.high)), \(line.note)"
    }
    return "\(title). " + rows.joined(separator: ". ")
  }

  private static func x(_ share: Double) -> Int { left + Int((share * Double(right - left)).rounded()) }

  private static func grid(_ percent: Int, _ floor: Int) -> HTML {
    let x = x(Double(percent) / 100)
    return """
      <line class="grid" x1="\(x)" y1="\(top)" x2="\(x)" y2="\(floor)"/>\
      <text x="\(x)" y="\(top - 6)">\(percent)%</text>

      """
  }

  private func row(_ index: Int) -> HTML {
    let line = lines[index]
    let y = Self.top + index * Self.rowHeight + Self.rowHeight / 2
    return """
      <text class="name" x="\(Self.left - 10)" y="\(y + 4)">\(printable(line.name, limit: 30))</text>\
      <line class="interval" x1="\(Self.x(line.low))" y1="\(y)" x2="\(Self.x(line.high))" y2="\(y)"/>\
      <circle class="point" cx="\(Self.x(line.share))" cy="\(y)" r="5"/>\
      <text class="note" x="\(Self.right + 10)" y="\(y + 4)">\(line.note)</text>

      """
  }
}

/// A share as a whole percentage.
func percent(_ share: Double) -> String { "\(Int((share * 100).rounded()))%" }

extension HTML {
  /// A drawing with its heading, which is read out as a sentence.
  static func drawn(
    _ title: String, _ summary: String, width: Int, height: Int, _ content: HTML
  ) -> HTML {
    """
    <figure>
    <figcaption>\(title)</figcaption>
    <div class="scroll" role="region" aria-label="\(title)" tabindex="0">
    <svg class="drawn" viewBox="0 0 \(width) \(height)" role="img">
    <title>\(summary)</title>
    \(content)
    </svg>
    </div>
    </figure>
    """
  }
}
