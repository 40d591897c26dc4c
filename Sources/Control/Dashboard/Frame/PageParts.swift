import Support

extension HTML {
  /// A part of a page that is brought up to date while the page is open. Its id is its own on the page.
  static func live(_ id: StaticString, _ content: HTML) -> HTML {
    "<div id=\"\(id.description)\" data-live>\(content)</div>"
  }

  /// A moment in UTC.
  static func time(_ seconds: Double?) -> HTML {
    guard let seconds, let exact = Moment.exact(seconds) else { return "" }
    return "<time datetime=\"\(exact)\">\(Moment.short(seconds))</time>"
  }

  /// Something to be noticed. Its class says how bad it is: `good`, `warn` or `bad`.
  static func notice(_ kind: StaticString, _ content: HTML) -> HTML {
    "<p class=\"notice \(kind.description)\">\(content)</p>"
  }

  /// Numbers to be seen at once, each with its name.
  static func figures(_ figures: [(name: String, value: HTML)]) -> HTML {
    "<dl class=\"figures\">\(figures.map { figure in "<div><dt>\(figure.name)</dt><dd>\(figure.value)</dd></div>" as HTML })</dl>"
  }

  /// Facts about one thing, a line for each; what has no value is left out.
  static func facts(_ facts: [(name: String, value: HTML?)]) -> HTML {
    let lines = facts.compactMap { name, value in
      value.map { value in "<dt>\(name)</dt><dd>\(value)</dd>\n" as HTML }
    }
    return "<dl class=\"facts\">\n\(lines)</dl>"
  }

  /// How sure the model is of a condition, from 0 to 1: a bar in the colour of its band, the percentage, and the band in
  /// words.
  static func confidence(_ confidence: Double, _ mark: ConditionMark?) -> HTML {
    let (known, band) = (Confidence(confidence), mark?.rawValue ?? "")
    return """
      <span class="confidence band \(band)"><svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" \
      aria-hidden="true"><rect width="\(known?.percentage ?? 0)" height="8"/></svg> \
      \(known?.percentageText ?? "") \(band)</span>
      """
  }

  /// A link to another page of the dashboard, with a query.
  static func link(_ path: String, _ query: [(name: String, value: String?)] = [], _ text: String)
    -> HTML
  {
    "<a href=\"\(address(path, query))\">\(text)</a>"
  }

  /// A path with a query; what has no value is left out.
  static func address(_ path: String, _ query: [(name: String, value: String?)]) -> String {
    let pairs = query.compactMap { pair in
      pair.value.flatMap { $0.isEmpty ? nil : "\(percentEncoded(pair.name))=\(percentEncoded($0))" }
    }
    return pairs.isEmpty ? path : path + "?" + pairs.joined(separator: "&")
  }

  /// Colours of the discs of initials: white letters have a contrast of at least 4.5 to 1 with each.
  static let discColours = ["#0b57a4", "#176b33", "#7a4f00", "#6b3fa0", "#a8201a", "#525b66"]

  /// A disc with a person's initials, the same one for the same initials. The person's name stands beside it.
  static func disc(of initials: String) -> HTML {
    let number = initials.unicodeScalars.reduce(0) { ($0 + Int($1.value)) % discColours.count }
    return """
      <svg class="person" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true">\
      <circle cx="16" cy="16" r="16" fill="\(discColours[number])"/>\
      <text x="16" y="21" text-anchor="middle" font-family="system-ui, sans-serif" font-size="14" fill="#ffffff">\
      \(initials)</text></svg>
      """
  }
}
