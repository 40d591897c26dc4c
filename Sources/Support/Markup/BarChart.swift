/// Bars of parts, one below the other: drawn as SVG within a page, or by who draws otherwise. Each part has a pattern beside its colour, and
/// each number that finds room is written on it: it is read without colours.
public struct BarChart {
  /// How a part is filled.
  public enum Fill: String, Sendable {
    /// Left blank within its outline.
    case blank
    case dots
    case lines
    case stripes
    case solid
  }

  /// One of the parts that every bar has.
  public struct Part {
    /// What it is, in the legend.
    public let name: String
    /// How it is filled.
    public let fill: Fill
    /// The class by which the stylesheet colours it.
    let style: String

    init(_ name: String, _ fill: Fill, style: StaticString) {
      self.name = name
      self.fill = fill
      self.style = style.description
    }
  }

  /// One bar.
  public struct Bar {
    /// What stands before it.
    public let name: String
    /// A value for each part, none negative.
    public let values: [Int64]
    /// What stands behind it.
    public let note: String
    /// What stands below it; nothing where that is empty.
    public let line: String

    init(_ name: String, _ values: [Int64], note: String, line: String = "") {
      self.name = name
      self.values = values
      self.note = note
      self.line = line
    }
  }

  /// How long the bars are.
  enum Scale: Sendable {
    /// As their sums are to the largest one.
    case common
    /// All alike: what is shown is the share of each part.
    case shares
  }

  /// A word that no other chart of the page has, for the names of its patterns.
  let id: String
  /// What it shows, and on a page no other does.
  public let title: String
  /// What the bars are by, for the table behind it: `Condition`.
  let label: String
  /// The parts of each bar.
  public let parts: [Part]
  /// The bars from above.
  public let bars: [Bar]
  /// How long the bars are.
  let scale: Scale

  init(
    _ id: StaticString, _ title: String, label: String, parts: [Part], bars: [Bar], scale: Scale = .common
  ) {
    self.id = id.description
    self.title = title
    self.label = label
    self.parts = parts
    self.bars = bars
    self.scale = scale
  }

  /// The value at which a bar is as long as one can be.
  public func most(_ bar: Bar) -> Int64 {
    scale == .shares ? bar.values.reduce(0, +) : bars.map { $0.values.reduce(0, +) }.max() ?? 0
  }

  private static let width = 640
  /// How many letters of a name find room before the bars.
  private static let nameLength = 26
  private static let lineHeight = 14

  /// Of a bar: with or without a line below it, and with each line of its name.
  private func height(of bar: Bar) -> Int {
    (bars.allSatisfy(\.line.isEmpty) ? 26 : 40) + (Self.lines(of: bar.name).count - 1) * Self.lineHeight
  }

  /// A name whole, in lines that end between words where they can.
  private static func lines(of name: String) -> [String] {
    var lines: [String] = []
    for word in printable(name).split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= nameLength {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        var rest = Substring(word)
        repeat {
          lines.append(String(rest.prefix(nameLength)))
          rest = rest.dropFirst(nameLength)
        } while !rest.isEmpty
      }
    }
    return lines.isEmpty ? [""] : lines
  }

  /// Where the bars lie; names stand before them and notes behind.
  private static let (left, right) = (170, 490)

  /// The chart.
  public var html: HTML {
    let ends = bars.reduce(into: [3]) { $0.append($0[$0.count - 1] + height(of: $1)) }
    return """
      <figure>
      <figcaption>\(title)</figcaption>
      <svg class="drawn" viewBox="0 0 \(Self.width) \(ends[bars.count] + 1)" role="img">
      <title>\(summary)</title>
      <defs>\(parts.map(pattern))</defs>
      \(zip(bars, ends).map(row))</svg>
      <p class="legend">\(parts.map(legend))</p>
      <details><summary>\(title) as a table</summary>
      \(table)</details>
      </figure>
      """
  }

  private var summary: String {
    let rows = bars.map { bar in
      let values = zip(parts, bar.values).map { "\($0.name) \($1)" }.joined(separator: ", ")
      return "\(bar.name): \(values)"
    }
    return "\(title). " + rows.joined(separator: ". ")
  }

  private var table: HTML {
    var table = DataTable(
      title, [.init(label)] + parts.map { .init($0.name, isNumber: true) } + [.init("In words")],
      empty: "Nothing.")
    for bar in bars {
      table.add(
        ["\(bar.name)"] + bar.values.map { value in "\(value)" as HTML } + [
          "\(bar.note)\(bar.line.isEmpty ? "" : "; ")\(bar.line)"
        ])
    }
    return table.html
  }

  private func pattern(_ part: Part) -> HTML {
    let name = "\(id)-\(part.fill.rawValue)"
    return switch part.fill {
    case .blank, .solid: ""
    case .dots:
      """
      <pattern id="\(name)" class="\(part.style)" width="6" height="6" patternUnits="userSpaceOnUse">\
      <circle cx="3" cy="3" r="1.5" fill="currentColor"/></pattern>
      """
    case .lines:
      """
      <pattern id="\(name)" class="\(part.style)" width="6" height="5" patternUnits="userSpaceOnUse">\
      <rect y="2" width="6" height="1" fill="currentColor"/></pattern>
      """
    case .stripes:
      """
      <pattern id="\(name)" class="\(part.style)" width="6" height="6" patternUnits="userSpaceOnUse" \
      patternTransform="rotate(45)"><rect width="2.5" height="6" fill="currentColor"/></pattern>
      """
    }
  }

  private func fill(_ part: Part) -> String {
    switch part.fill {
    case .blank: "none"
    case .solid: "currentColor"
    case .dots, .lines, .stripes: "url(#\(id)-\(part.fill.rawValue))"
    }
  }

  private func legend(_ part: Part) -> HTML {
    """
    <span><svg class="swatch" viewBox="0 0 24 12" aria-hidden="true">\
    <rect class="part \(part.style)" x="1" y="1" width="22" height="10" fill="\(fill(part))"/></svg> \(part.name)</span>

    """
  }

  private func row(_ bar: Bar, at y: Int) -> HTML {
    let most = most(bar)
    var drawn: HTML = ""
    for (line, text) in Self.lines(of: bar.name).enumerated() {
      drawn +=
        "<text class=\"name\" x=\"\(Self.left - 8)\" y=\"\(y + (line + 1) * Self.lineHeight)\">\(text)</text>"
    }
    var before: Int64 = 0
    for (part, value) in zip(parts, bar.values) where value > 0 {
      let (start, end) = (Self.x(before, of: most), Self.x(before + value, of: most))
      before += value
      drawn +=
        """
        <rect class="part \(part.style)" x="\(start)" y="\(y)" width="\(max(1, end - start))" height="20" \
        fill="\(fill(part))"/>
        """
      guard String(value).utf8.count * 7 + 8 <= end - start else { continue }
      drawn += "<text class=\"count\" x=\"\((start + end) / 2)\" y=\"\(y + 14)\">\(value)</text>"
    }
    drawn += "<text class=\"note\" x=\"\(Self.x(before, of: most) + 8)\" y=\"\(y + 14)\">\(bar.note)</text>\n"
    if !bar.line.isEmpty {
      drawn += "<text class=\"note\" x=\"\(Self.left)\" y=\"\(y + 32)\">\(bar.line)</text>\n"
    }
    return drawn
  }

  /// Where a value lies on the scale.
  private static func x(_ value: Int64, of most: Int64) -> Int {
    guard most > 0 else { return left }
    return left + Int((Double(value) / Double(most) * Double(right - left)).rounded())
  }
}
