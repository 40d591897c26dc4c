import FoundationEssentials
import Support

/// A statement as one page for a browser. It holds all that it needs, runs no script, is read without colours, and is
/// printed on A4. It is well-formed XML too.
struct BillPage {
  let bill: Bill
  private let words: BillWords

  init(_ bill: Bill, sha256: String) {
    self.bill = bill
    words = BillWords(bill, sha256: sha256)
  }

  /// When a chunk is passed on.
  private static let chunkSize = 65_536

  /// Passes on the page in chunks.
  func write(to sink: ([UInt8]) throws -> Void) throws {
    var bytes: [UInt8] = []
    func put(_ html: HTML) throws {
      bytes.append(contentsOf: html.markup.utf8)
      guard bytes.count >= Self.chunkSize else { return }
      try sink(bytes)
      bytes.removeAll(keepingCapacity: true)
    }
    try put(head)
    try putLines(put)
    try putAdjustments(put)
    try put(charts)
    try put(foot)
    if !bytes.isEmpty { try sink(bytes) }
  }

  /// The charts of what is known.
  private var charts: HTML {
    let charts = BillCharts(bill)
    let drawn = [charts.days?.html, charts.conditions?.html, charts.usage?.html].compactMap(\.self)
    return drawn.isEmpty ? "" : "<h2>\(BillCharts.title)</h2>\n\(drawn)\n"
  }

  private var head: HTML {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width, initial-scale=1"/>
    <meta name="robots" content="noindex"/>
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"/>
    <title>\(words.title), \(BillWords.short(bill.holder.name)), \(words.month)</title>
    <style>
    \(Self.rules)
    \(accent)</style>
    </head>
    <body>
    <main>
    \(logo)<h1>\(words.title)</h1>
    \(HTML.facts(words.facts.map { fact in (fact.name, Self.broken(fact.value)) }))
    <h2>Total</h2>
    \(HTML.figures(words.totals.map { fact in (fact.name, "\(fact.value)") }))

    """
  }

  /// The product's colour in the place of the usual one.
  private var accent: HTML? {
    bill.brand?.accent.map { accent in "\(accent.css)\nh1 { color: var(--link); }\n" }
  }

  private var logo: HTML? {
    bill.holder.logo.map { logo in
      let size = logo.size(within: (width: 320, height: 96))
      return """
        <img class="logo" src="data:image/jpeg;base64,\(Data(logo.bytes).base64EncodedString())" alt="\(words.logoText)" \
        width="\(Int(size.width))" height="\(Int(size.height))"/>

        """
    }
  }

  /// A text of several lines.
  private static func broken(_ text: String) -> HTML {
    let lines = text.split(separator: "\n").map { line in "\(String(line))" as HTML }
    var html = lines.first ?? ""
    for line in lines.dropFirst() { html += "<br/>\(line)" }
    return html
  }

  /// A date, and a time of the day behind it, each on one line.
  private static func unbroken(_ text: String) -> HTML {
    let parts = text.split(separator: " ").map { part in
      "<span class=\"date\">\(String(part))</span> " as HTML
    }
    return "\(parts)"
  }

  private func putLines(_ put: (HTML) throws -> Void) throws {
    try put("<h2>\(BillWords.linesTitle)</h2>\n")
    guard !bill.lines.isEmpty else {
      return try put("<p class=\"empty\">\(BillWords.noLines)</p>\n")
    }
    try put("<p class=\"quiet\">\(words.periodNote)</p>\n")
    var columns: [DataTable.Column] = [
      .init("User"), .init("From"), .init("Until"), .init("Plan"), .init("Limit", isNumber: true),
      .init("Units", isNumber: true), .init("Over", isNumber: true),
    ]
    columns += prices
    let table = DataTable(
      "What each user used, a row for each part of the month under one plan at one price", columns, empty: "")
    try put(table.opening)
    for line in bill.lines {
      let cells: [HTML] = [
        user(line), Self.unbroken(line.from.short), Self.unbroken(line.until.short),
        "\(BillWords.plan(of: line))",
        "\(BillWords.limit(of: line))", "\(line.units)", "\(line.over)",
      ]
      try put(table.row(cells + costs(line)))
    }
    try put("\(table.closing)\n")
  }

  private func putAdjustments(_ put: (HTML) throws -> Void) throws {
    guard !bill.adjustments.isEmpty else { return }
    try put("<h2>\(BillWords.adjustmentsTitle)</h2>\n")
    let table = DataTable(
      "What changed in months that had been closed",
      [.init("User"), .init("Month"), .init("Plan"), .init("Reason"), .init("Units", isNumber: true)]
        + prices,
      empty: "")
    try put(table.opening)
    for line in bill.adjustments {
      let cells: [HTML] = [
        user(line), Self.unbroken(line.month.description), "\(BillWords.plan(of: line))",
        "\(BillWords.short(line.reason ?? BillWords.none))", "\(line.units)",
      ]
      try put(table.row(cells + costs(line)))
    }
    try put("\(table.closing)\n")
  }

  /// The user's reference may be of any script, which must not turn round what stands beside it.
  private func user(_ line: BillLine) -> HTML {
    let zone: HTML? = words.zone(of: line).map { zone in "<br/><span class=\"quiet\">\(zone)</span>" }
    return "<bdi>\(BillWords.short(line.user))</bdi>\(zone)"
  }

  private var prices: [DataTable.Column] {
    guard words.hasPrices else { return [] }
    return [
      .init(words.inCurrency("Price"), isNumber: true), .init(words.inCurrency("Amount"), isNumber: true),
    ]
  }

  private func costs(_ line: BillLine) -> [HTML] {
    guard words.hasPrices else { return [] }
    return [line.price, line.amount].map { number in "\(number?.description ?? BillWords.none)" }
  }

  private var foot: HTML {
    """
    <footer>
    \(HTML.facts([(words.hash.name, "<code>\(words.hash.value)</code>")]))
    </footer>
    </main>
    </body>
    </html>

    """
  }

  private static let rules: HTML = """
    \(Palette.css)
    @page { size: A4; margin: 18mm 15mm; }
    * { box-sizing: border-box; }
    body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
    main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem; }
    img.logo { display: block; max-width: 100%; margin: 0 0 1rem; }
    h1 { font-size: 1.6rem; margin: 0 0 1rem; }
    h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; break-after: avoid; }
    dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; margin: 0; }
    dl.facts dt, dl.figures dt { color: var(--quiet); }
    dl.facts dd { margin: 0; overflow-wrap: anywhere; }
    dl.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 0; }
    dl.figures div { padding: .6rem .75rem; border: 1px solid var(--line); border-radius: .4rem;
      background: var(--soft); }
    dl.figures dt { font-size: .875rem; }
    dl.figures dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
    dl.figures div:last-child dd { font-weight: 700; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
    caption { text-align: left; color: var(--quiet); padding: .25rem 0; }
    th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
      vertical-align: top; overflow-wrap: break-word; }
    th:first-child { min-width: 8rem; max-width: 16rem; overflow-wrap: anywhere; }
    thead th { border-bottom: 2px solid var(--quiet); }
    tbody th { font-weight: 400; }
    tr { break-inside: avoid; }
    .number { text-align: right; white-space: nowrap; }
    .date { white-space: nowrap; }
    thead .number { white-space: normal; }
    th:last-child, td:last-child { padding-right: 0; }
    .quiet, .empty { color: var(--quiet); font-size: .875rem; }
    figure { margin: 1rem 0; break-inside: avoid; overflow-x: auto; }
    figcaption { font-weight: 700; }
    .legend { margin: .25rem 0; font-size: .875rem; }
    .legend span { margin-right: 1.25rem; white-space: nowrap; }
    summary { color: var(--quiet); font-size: .875rem; }
    \(Drawing.css)
    svg.swatch { width: 24px; height: 12px; }
    .good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
    .link { color: var(--link); }
    footer { margin-top: 2rem; padding-top: .75rem; border-top: 1px solid var(--line); font-size: .875rem; }
    @media print {
      html { font-size: 9pt; }
      main { max-width: none; padding: 0; }
      .scroll { overflow: visible; }
      details { display: none; }
      svg.drawn { min-width: 0; }
    }
    """
}
