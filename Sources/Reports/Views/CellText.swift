/// What makes words from outside harmless before they are shown.
enum CellText {
  /// The text without control characters and without the marks that reorder what is read.
  ///
  /// - Parameter keepingLines: whether tabs and line ends stay, which CSV can hold and a table cannot.
  static func printable(_ text: String, keepingLines: Bool) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: text.unicodeScalars.filter { isPrintable($0, keepingLines: keepingLines) })
    return String(kept)
  }

  private static func isPrintable(_ scalar: Unicode.Scalar, keepingLines: Bool) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D: keepingLines
    case 0x00..<0x20, 0x7F..<0xA0: false  // C0, DEL and C1
    case 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false  // marks of direction
    case 0x2028, 0x2029: keepingLines  // line and paragraph separators
    case 0xFEFF: false  // byte order mark
    default: true
    }
  }

  /// The text with an apostrophe before it when a spreadsheet would take it for a formula: when it starts
  /// with `=`, `+`, `-`, `@`, the wide forms of these, a tab or a line end, with blanks before it or not.
  static func guarded(_ text: String) -> String {
    for scalar in text.unicodeScalars {
      switch scalar {
      case " ", "\u{A0}", "\u{3000}": continue
      case "=", "+", "-", "@", "\t", "\r", "\n", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}":
        return "'" + text
      default: return text
      }
    }
    return text
  }
}
