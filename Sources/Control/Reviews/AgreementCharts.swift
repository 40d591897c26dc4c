import Support

/// Shares below each other, each a point on a line from 0 to 100 % with the interval in which it lies, drawn as SVG
/// within the page. What it shows has to stand in a table beside it too.
struct IntervalChart {
  /// A share with its interval.
  struct Line {
    let name: String
    let share, low, high: Double
    let note: String

    init(_ name: String, share: Double, low: Double, high: Double, note: String) {
      (self.name, self.share, self.low, self.high, self.note) = (name, share, low, high, note)
    }
  }

  /// What it shows, and on a page no other does.
  let title: String
  let lines: [Line]

  init(_ title: String, lines: [Line]) {
    (self.title, self.lines) = (title, lines)
  }

  private static let width = 640
  private static let rowHeight = 24
  private static let (left, right, top) = (190, 520, 20)

  var html: HTML {
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
private func percent(_ share: Double) -> String { "\(wholePercentage(share))%" }

extension HTML {
  /// A drawing with its heading, which is read out as a sentence.
  fileprivate static func drawn(
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

/// Whether a confidence says how often it is right: a point for each group, with its confidence to the right and the
/// share that was right upwards. On the broken line both are the same. What it shows has to stand in a table beside it
/// too.
struct CalibrationChart {
  struct Point {
    let confidence, share, low, high: Double
    let note: String
  }

  /// What it shows, and on a page no other does.
  let title: String
  let points: [Point]

  init(_ title: String, points: [Point]) {
    (self.title, self.points) = (title, points)
  }

  private static let (width, height) = (640, 380)
  private static let (left, right, top, floor) = (60, 620, 16, 330)

  var html: HTML {
    .drawn(
      title, summary, width: Self.width, height: Self.height,
      """
      \([0, 20, 40, 60, 80, 100].map(Self.grid))
      <line class="ideal" x1="\(Self.left)" y1="\(Self.floor)" x2="\(Self.right)" y2="\(Self.top)"/>
      <text x="\((Self.left + Self.right) / 2)" y="\(Self.height - 10)">mean confidence</text>
      <text class="note" x="\(Self.left + 6)" y="\(Self.top + 10)">clinicians who agree</text>
      \(points.map(Self.drawn))
      """)
  }

  private var summary: String {
    let groups = points.map { point in
      "At \(percent(point.confidence)) confidence \(percent(point.share)) agree, between \(percent(point.low)) and "
        + "\(percent(point.high)), \(point.note)"
    }
    return "\(title). " + groups.joined(separator: ". ")
  }

  private static func x(_ share: Double) -> Int { left + Int((share * Double(right - left)).rounded()) }
  private static func y(_ share: Double) -> Int { floor - Int((share * Double(floor - top)).rounded()) }

  private static func grid(_ percent: Int) -> HTML {
    let (x, y) = (x(Double(percent) / 100), y(Double(percent) / 100))
    return """
      <line class="grid" x1="\(x)" y1="\(top)" x2="\(x)" y2="\(floor)"/>\
      <line class="grid" x1="\(left)" y1="\(y)" x2="\(right)" y2="\(y)"/>\
      <text x="\(x)" y="\(floor + 16)">\(percent)%</text>\
      <text class="scale" x="\(left - 8)" y="\(y + 4)">\(percent)%</text>

      """
  }

  private static func drawn(_ point: Point) -> HTML {
    let (x, y) = (x(point.confidence), y(point.share))
    // Its number stands beside it, where there is room.
    let isLeft = x > right - 60
    return """
      <line class="interval" x1="\(x)" y1="\(Self.y(point.low))" x2="\(x)" y2="\(Self.y(point.high))"/>\
      <circle class="point" cx="\(x)" cy="\(y)" r="5"/>\
      <text class="\(isLeft ? "name" : "note")" x="\(isLeft ? x - 10 : x + 10)" y="\(y + 4)">\(point.note)</text>

      """
  }
}
