import Glibc

/// A line chart with its scale, drawn as SVG within the page. The value of each moment is said where the pointer stands,
/// and a table of the same numbers stands behind it for whoever does not see it.
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

  /// Its own on the page.
  let id: String
  /// What it shows, for its heading.
  let title: String
  /// What the values are, for the axis: `jobs a second`.
  let unit: String
  /// The moments, as they are shown, the oldest first.
  let moments: [String]
  /// Its lines, a value a moment.
  let lines: [Line]

  /// A chart.
  public init(id: String, title: String, unit: String, moments: [String], lines: [Line]) {
    self.id = id
    self.title = title
    self.unit = unit
    self.moments = moments
    self.lines = lines
  }

  private static let width = 600
  private static let height = 160

  /// The chart and its table. What is written beside it is no part of the drawing, which is as wide as the page has
  /// room: so it can be read on a phone too.
  public var html: HTML {
    let top = Self.roundedUp(lines.flatMap(\.values).compactMap(\.self).max() ?? 0)
    return """
      <figure class="chart" id="\(id)">
      <figcaption>\(title), \(unit)</figcaption>
      <div class="plot">
      <p class="scale"><span>\(Self.shown(top))</span><span>\(Self.shown(top / 2))</span><span>0</span></p>
      <svg viewBox="0 0 \(Self.width) \(Self.height)" role="img" aria-label="\(summary)" preserveAspectRatio="none">
      <line class="grid" x1="0" y1="\(Self.height / 2)" x2="\(Self.width)" y2="\(Self.height / 2)"/>
      \(lines.map { line in path(line, top: top) })
      <g class="moments" stroke-width="\(Self.shown(step))">\(moments.indices.map(moment))</g>
      </svg>
      <p class="axis">\(axis.map { name in "<span>\(name)</span>" as HTML })</p>
      </div>
      <p class="legend">\(lines.map { line in "<span class=\"\(line.style)\">\(line.name)</span> " as HTML })</p>
      <p class="reading">\(moments.indices.last.map(reading) ?? "")</p>
      <details id="\(id)-table"><summary>\(title) as a table</summary>\(table)</details>
      </figure>
      """
  }

  /// How far a moment is from the next.
  private var step: Double { Double(Self.width) / Double(max(1, moments.count - 1)) }

  /// The first moment, the one in the middle and the last.
  private var axis: [String] {
    guard let last = moments.indices.last else { return [] }
    return Set([0, last / 2, last]).sorted().map { moments[$0] }
  }

  /// What a screen reader says of it.
  private var summary: String {
    let last = lines.map { line in
      "\(line.name): \((line.values.last ?? nil).map(Self.shown) ?? "nothing known") at the end"
    }
    return "\(title), \(unit). " + last.joined(separator: ", ")
  }

  /// `08:15: done 41, failed 0.5`.
  private func reading(_ index: Int) -> String {
    let values = lines.compactMap { line in line.values[index].map { "\(line.name) \(Self.shown($0))" } }
    return "\(moments[index]): " + (values.isEmpty ? "nothing known" : values.joined(separator: ", "))
  }

  /// What the pointer finds at a moment.
  private func moment(_ index: Int) -> HTML {
    guard lines.contains(where: { $0.values[index] != nil }) else { return "" }
    return """
      <path d="M\(Int((Double(index) * step).rounded())) 0v\(Self.height)"><title>\(reading(index))</title></path>
      """
  }

  /// The pieces of a line between what is not known.
  private func path(_ line: Line, top: Double) -> HTML {
    var data = ""
    var isDrawing = false
    for (index, value) in line.values.enumerated() {
      guard let value else {
        isDrawing = false
        continue
      }
      let x = Int((Double(index) * step).rounded())
      let y = Int((Double(Self.height - 1) * (1 - (top > 0 ? value / top : 0))).rounded())
      // A value that stands alone is a dot: a line without length has its round ends.
      data += isDrawing ? "L\(x) \(y)" : "M\(x) \(y)h0"
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

/// A colour of the sRGB space: `#0b57a4`.
public struct Colour: Sendable, Hashable, Codable, CustomStringConvertible {
  /// From 0 to 255.
  public let red, green, blue: UInt8

  /// Reads six hexadecimal digits behind `#`; nil for anything else.
  public init?(_ text: String) {
    let digits = text.utf8.dropFirst()
    guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6,
      digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
      let number = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    else { return nil }
    red = UInt8(truncatingIfNeeded: number >> 16)
    green = UInt8(truncatingIfNeeded: number >> 8)
    blue = UInt8(truncatingIfNeeded: number)
  }

  /// The relative luminance: 0 for black, 1 for white (WCAG 2.2).
  private var luminance: Double {
    0.2126 * Self.linear(red) + 0.7152 * Self.linear(green) + 0.0722 * Self.linear(blue)
  }

  private static func linear(_ value: UInt8) -> Double {
    let share = Double(value) / 255
    return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
  }

  /// The contrast with another colour, from 1 to 21 (WCAG 2.2, 1.4.3). Text has to have 4.5 at least.
  func contrast(with other: Colour) -> Double {
    let (light, dark) = (max(luminance, other.luminance), min(luminance, other.luminance))
    return (light + 0.05) / (dark + 0.05)
  }

  /// The least contrast that text may have with what it stands on (WCAG 2.2, level AA).
  public static let leastContrast = 4.5

  /// As it is written in CSS.
  public var description: String {
    "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// The rules of drawn charts, for the stylesheet of whatever page has one.
public enum Drawing {
  /// The rules, in the colours of `Palette`.
  public static let css = """
    svg.drawn { display: block; width: 100%; min-width: 34rem; height: auto; background: var(--paper);
      border: 1px solid var(--line); }
    svg.drawn text { font-size: 10px; fill: var(--ink); text-anchor: middle; }
    svg.drawn .name, svg.drawn .scale { text-anchor: end; }
    svg.drawn .note { text-anchor: start; }
    svg.drawn .count { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
    svg.drawn .grid { stroke: var(--line); }
    svg.drawn .axis { stroke: var(--quiet); }
    svg.drawn .ideal { stroke: var(--quiet); stroke-dasharray: 6 4; }
    svg.drawn .bar { fill: var(--link); }
    svg.drawn .interval { stroke: var(--link); stroke-width: 2; }
    svg.drawn .point { fill: var(--link); stroke: var(--paper); }
    svg .part { stroke: currentColor; }
    """
}

/// The colours of what is shown in a browser, as variables of CSS.
public enum Palette {
  /// The colours have a contrast of at least 4.5 to 1 with what they stand on (WCAG 2.2, 1.4.3), in both schemes.
  public static let css = """
    :root { --ink: #1b1f24; --paper: #ffffff; --soft: #f3f5f7; --line: #c6ccd3; --quiet: #525b66; --link: #0b57a4;
      --good: #176b33; --warn: #7a4f00; --bad: #a8201a; --second: #6b3fa0; }
    @media screen and (prefers-color-scheme: dark) {
      :root { --ink: #e6e9ed; --paper: #14171b; --soft: #1f242a; --line: #454d57; --quiet: #a9b2bd; --link: #7ab8ff;
        --good: #6fce8b; --warn: #e3b341; --bad: #ff8f87; --second: #c8a6f5; } }
    """

  /// What links stand on: the page, and its head.
  static let lightPapers = ["#ffffff", "#f3f5f7"]
  static let darkPapers = ["#14171b", "#1f242a"]
}

/// The colour of links, bars and titles, in the light and in the dark scheme.
public struct Accent: Sendable, Equatable, Codable {
  /// The colour on light and on dark pages.
  public let light, dark: Colour

  /// A colour on each of both.
  public init(light: Colour, dark: Colour) {
    self.light = light
    self.dark = dark
  }

  /// A colour that cannot be read on what it stands on.
  public struct Faint: Sendable, Equatable {
    /// The contrast with it.
    public let contrast: Double
    /// What it stands on.
    public let paper: Colour
  }

  /// Where a colour has less contrast than text may have, if anywhere; nil where it can be read.
  public static func faint(_ colour: Colour, isDark: Bool) -> Faint? {
    let papers = (isDark ? Palette.darkPapers : Palette.lightPapers).compactMap { Colour($0) }
    let worst = papers.min { colour.contrast(with: $0) < colour.contrast(with: $1) }
    guard let worst, colour.contrast(with: worst) < Colour.leastContrast else { return nil }
    return Faint(contrast: colour.contrast(with: worst), paper: worst)
  }

  /// The rules that put it in the place of the palette's, behind which they have to stand.
  public var css: String {
    ":root { --link: \(light); } @media screen and (prefers-color-scheme: dark) { :root { --link: \(dark); } }"
  }
}
