/// A piece of a page. What is interpolated into one is shown as it is written: markup in it is escaped, and characters
/// that hide or turn words round are left out. A piece that is interpolated into another stands as it is.
///
/// Write it as a literal, `"<td>\(name)</td>"`, and put quotation marks around attributes.
public struct HTML: Sendable, Equatable, ExpressibleByStringInterpolation {
  /// The markup.
  public private(set) var markup: String

  /// A piece that is a literal of the program.
  public init(stringLiteral markup: StaticString) {
    self.markup = markup.description
  }

  /// A piece with what was interpolated.
  public init(stringInterpolation parts: Interpolation) {
    markup = parts.markup
  }

  /// Puts another piece behind it.
  public static func += (left: inout HTML, right: HTML) {
    left.markup += right.markup
  }

  /// The parts of a literal.
  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var markup = ""

    /// Begins a piece.
    public init(literalCapacity: Int, interpolationCount: Int) {
      markup.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    /// Markup of the program's own.
    public mutating func appendLiteral(_ literal: StaticString) {
      literal.withUTF8Buffer { markup += String(decoding: $0, as: UTF8.self) }
    }

    /// Text, escaped. Scalar by scalar: to Swift a sign that is joined with its neighbour, as a quotation mark with an
    /// accent, is another character, and to a browser it is still a quotation mark.
    public mutating func appendInterpolation(_ text: String) {
      for scalar in printable(text).unicodeScalars {
        switch scalar {
        case "&": markup += "&amp;"
        case "<": markup += "&lt;"
        case ">": markup += "&gt;"
        case "\"": markup += "&quot;"
        case "'": markup += "&#39;"
        default: markup.unicodeScalars.append(scalar)
        }
      }
    }

    /// A whole number.
    public mutating func appendInterpolation(_ number: some BinaryInteger) {
      markup += String(number)
    }

    /// Another piece.
    public mutating func appendInterpolation(_ piece: HTML) {
      markup += piece.markup
    }

    /// Pieces, one behind the other; nothing where there is none.
    public mutating func appendInterpolation(_ pieces: some Sequence<HTML>) {
      for piece in pieces { markup += piece.markup }
    }

    /// A piece, where there is one.
    public mutating func appendInterpolation(_ piece: HTML?) {
      if let piece { markup += piece.markup }
    }
  }
}

extension HTML {
  /// A part of a page that is brought up to date while the page is open. Its id is its own on the page.
  public static func live(_ id: StaticString, _ content: HTML) -> HTML {
    "<div id=\"\(id.description)\" data-live>\(content)</div>"
  }

  /// A moment in UTC.
  public static func time(_ seconds: Double?) -> HTML {
    guard let seconds, let exact = Moment.exact(seconds) else { return "" }
    return "<time datetime=\"\(exact)\">\(Moment.short(seconds))</time>"
  }

  /// Something to be noticed. Its class says how bad it is: `good`, `warn` or `bad`.
  public static func notice(_ kind: StaticString, _ content: HTML) -> HTML {
    "<p class=\"notice \(kind.description)\">\(content)</p>"
  }

  /// Numbers to be seen at once, each with its name.
  public static func figures(_ figures: [(name: String, value: HTML)]) -> HTML {
    "<dl class=\"figures\">\(figures.map { figure in "<div><dt>\(figure.name)</dt><dd>\(figure.value)</dd></div>" as HTML })</dl>"
  }

  /// Facts about one thing, a line for each; what has no value is left out.
  public static func facts(_ facts: [(name: String, value: HTML?)]) -> HTML {
    let lines = facts.compactMap { name, value in
      value.map { value in "<dt>\(name)</dt><dd>\(value)</dd>\n" as HTML }
    }
    return "<dl class=\"facts\">\n\(lines)</dl>"
  }

  /// A link to another page of the dashboard, with a query.
  public static func link(_ path: String, _ query: [(name: String, value: String?)] = [], _ text: String)
    -> HTML
  {
    "<a href=\"\(address(path, query))\">\(text)</a>"
  }

  /// A path with a query; what has no value is left out.
  public static func address(_ path: String, _ query: [(name: String, value: String?)]) -> String {
    let pairs = query.compactMap { pair in
      pair.value.flatMap { $0.isEmpty ? nil : "\(percentEncoded(pair.name))=\(percentEncoded($0))" }
    }
    return pairs.isEmpty ? path : path + "?" + pairs.joined(separator: "&")
  }
}
