import Support

/// Aligned columns for people, with the sum and a line below that says what they look at.
///
/// The first thousand rows decide how wide the columns are and are held until then; the rows after them are
/// written as they come, so that memory stays flat. A text that is too long for its column is cut.
struct TableView: ReportView {
  /// How many columns the terminal has; nil for as many as the table needs.
  let width: Int?

  private static let measured = 1_000
  private static let widestText = 60
  private static let narrowestText = 8
  private static let gap = 2

  private var columns: [Column] = []
  private var held: [[String]] = []
  private var sum: [String]?
  private var widths: [Int] = []

  let audience = Column.Audience.people

  init(width: Int? = nil) {
    self.width = width
  }

  mutating func begin(_ columns: [Column], into bytes: inout [UInt8]) {
    self.columns = columns
  }

  mutating func sum(_ cells: [ReportCell], at shown: [Int]) {
    sum = shown.map { Self.text(cells[$0]) }
  }

  mutating func row(_ cells: [ReportCell], at shown: [Int], into bytes: inout [UInt8]) {
    let texts = shown.map { Self.text(cells[$0]) }
    guard widths.isEmpty else { return line(texts, into: &bytes) }
    held.append(texts)
    if held.count == Self.measured { release(into: &bytes) }
  }

  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8]) {
    if widths.isEmpty { release(into: &bytes) }
    if let sum, meta.rows > 0 {
      rule(into: &bytes)
      line(sum, into: &bytes)
    }
    bytes.append(contentsOf: "\n\(Self.caption(of: meta))\n".utf8)
  }

  /// What the table is of: `usage of 2026-10, draft, 4 rows, times in each user's zone`.
  private static func caption(of meta: ReportMeta) -> String {
    let rows = meta.rows == 1 ? "1 row" : "\(meta.rows) rows"
    let scope = meta.scope
    let leavesOut = meta.kind == .usage && scope.groups == nil && !scope.hasIdleUsers
    let facts: [String?] = [
      scope.groups.map { "\(meta.kind.rawValue) by \($0.by.rawValue) of \($0.dayText)" }
        ?? "\(meta.kind.rawValue) of \(meta.monthText)",
      scope.clinic.map { "clinic \(printable($0))" },
      scope.user.map { "user \(printable($0))" },
      scope.groups == nil && !meta.kind.isOfReviews ? meta.state.rawValue : nil,
      rows,
      meta.kind.isOfReviews
        ? nil : (scope.groups == nil ? "times" : "days") + " in \(meta.zone ?? "each user's zone")",
      leavesOut ? "without users who used nothing" : nil,
    ]
    return facts.compactMap(\.self).joined(separator: ", ")
  }

  /// Fixes the widths by what is held, writes the header and lets the held rows go.
  private mutating func release(into bytes: inout [UInt8]) {
    widths = columns.indices.map { index in
      let widest = (held + (sum.map { [$0] } ?? [])).reduce(displayWidth(columns[index].heading)) {
        max($0, displayWidth($1[index]))
      }
      return columns[index].mayBeCut ? min(widest, Self.widestText) : widest
    }
    shrink()
    line(columns.map { $0.heading.uppercased() }, into: &bytes)
    for texts in held { line(texts, into: &bytes) }
    held = []
  }

  /// Takes columns off the widest column of text, one by one, until the table fits or none can give.
  private mutating func shrink() {
    guard let width else { return }
    var excess = widths.reduce(0, +) + Self.gap * (widths.count - 1) - width
    while excess > 0 {
      let cuttable = columns.indices.filter { columns[$0].mayBeCut }
      guard let widest = cuttable.max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.narrowestText
      else { return }
      widths[widest] -= 1
      excess -= 1
    }
  }

  private func rule(into bytes: inout [UInt8]) {
    line(widths.map { String(repeating: "-", count: $0) }, into: &bytes)
  }

  private func line(_ texts: [String], into bytes: inout [UInt8]) {
    var line = ""
    for (index, text) in texts.enumerated() {
      if index > 0 { line += String(repeating: " ", count: Self.gap) }
      let isText = columns[index].alignment == .left
      let shown = columns[index].mayBeCut ? truncated(text, to: widths[index]) : text
      let blanks = String(repeating: " ", count: max(0, widths[index] - displayWidth(shown)))
      line += isText ? shown + blanks : blanks + shown
    }
    while line.last == " " { line.removeLast() }
    bytes.append(contentsOf: line.utf8)
    bytes.append(UInt8(ascii: "\n"))
  }

  private static func text(_ cell: ReportCell) -> String {
    switch cell {
    case .absent: ""
    case .unlimited: "unlimited"
    case .text(let text): printable(text)
    case .identifier(let number), .integer(let number): String(number)
    case .decimal(let number): String(describing: number)
    case .number(let number): number.description
    case .percentage(let number): "\(number)%"
    case .time(let time): time.text
    case .boolean(let yes): yes ? "yes" : "no"
    case .hidden(let least): ReportCell.hiddenText(below: least)
    }
  }
}
