/// A line chart, drawn as SVG within the page. A table of the same numbers stands behind it for whoever does not see it.
public struct Chart {
  /// One line of it.
  public struct Line {
    /// What it shows, in the legend.
    let name: String
    /// The class by which the stylesheet colours it.
    let style: String
    /// A value for each moment; nil where nothing is known.
    let values: [Double?]

    /// A line.
    public init(name: String, style: String, values: [Double?]) {
      self.name = name
      self.style = style
      self.values = values
    }
  }

  /// What it shows, for its heading.
  let title: String
  /// What the values are, for the axis: `jobs a second`.
  let unit: String
  /// The moments, as they are shown, the oldest first.
  let moments: [String]
  /// Its lines, a value a moment.
  let lines: [Line]

  /// A chart.
  public init(title: String, unit: String, moments: [String], lines: [Line]) {
    self.title = title
    self.unit = unit
    self.moments = moments
    self.lines = lines
  }

  private static let width = 600
  private static let height = 160

  /// The chart and its table.
  public var html: HTML {
    let top = Self.roundedUp(lines.flatMap(\.values).compactMap(\.self).max() ?? 0)
    return """
      <figure>
      <figcaption>\(title), \(unit)</figcaption>
      <svg viewBox="0 0 \(Self.width) \(Self.height)" role="img" aria-label="\(summary)" preserveAspectRatio="none">
      <line class="grid" x1="0" y1="\(Self.height / 2)" x2="\(Self.width)" y2="\(Self.height / 2)"/>
      \(lines.map { line in path(line, top: top) })
      </svg>
      <p class="axis"><span>\(moments.first ?? "")</span><span>most: \(Self.shown(top))</span><span>\(moments.last ?? "")</span></p>
      <p class="legend">\(lines.map { line in "<span class=\"\(line.style)\">\(line.name)</span> " as HTML })</p>
      <details><summary>\(title) as a table</summary>\(table)</details>
      </figure>
      """
  }

  /// What a screen reader says of it.
  private var summary: String {
    let last = lines.map { line in
      "\(line.name): \((line.values.last ?? nil).map(Self.shown) ?? "nothing known") at the end"
    }
    return "\(title), \(unit). " + last.joined(separator: ", ")
  }

  /// The pieces of a line between what is not known.
  private func path(_ line: Line, top: Double) -> HTML {
    var data = ""
    var isDrawing = false
    let step = Double(Self.width) / Double(max(1, line.values.count - 1))
    for (index, value) in line.values.enumerated() {
      guard let value else {
        isDrawing = false
        continue
      }
      let x = Int((Double(index) * step).rounded())
      let y = Int((Double(Self.height - 1) * (1 - (top > 0 ? value / top : 0))).rounded())
      data += "\(isDrawing ? "L" : "M")\(x) \(y)"
      isDrawing = true
    }
    return "<path class=\"\(line.style)\" d=\"\(data)\"/>"
  }

  private var table: HTML {
    """
    <table><thead><tr><th scope="col">Time</th>\(lines.map { line in "<th scope=\"col\">\(line.name)</th>" as HTML })</tr></thead>
    <tbody>\(moments.indices.map { index in row(index) })</tbody></table>
    """
  }

  private func row(_ index: Int) -> HTML {
    """
    <tr><th scope="row">\(moments[index])</th>\
    \(lines.map { line in "<td>\(line.values[index].map(Self.shown) ?? "")</td>" as HTML })</tr>
    """
  }

  /// 1, 2 or 5 times a power of ten that is not below the value.
  static func roundedUp(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return 1 }
    var step = 0.1
    while true {
      for factor in [1.0, 2, 5] where step * factor >= value { return step * factor }
      step *= 10
    }
  }

  /// `12`, `0.5`.
  public static func shown(_ value: Double) -> String {
    let tenths = (value * 10).rounded()
    guard tenths.truncatingRemainder(dividingBy: 10) != 0 else { return String(Int(tenths / 10)) }
    return "\(Int(tenths) / 10).\(abs(Int(tenths)) % 10)"
  }
}
