/// How many columns of a terminal a text takes.
enum TextWidth {
  /// The width of a text: one column a character, two for those of East Asia and for pictures.
  static func of(_ text: String) -> Int {
    let utf8 = text.utf8
    if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
    return text.reduce(0) { $0 + width(of: $1) }
  }

  /// The text cut to a width, with an ellipsis in its last column when something was cut.
  static func cut(_ text: String, to limit: Int) -> String {
    guard of(text) > limit else { return text }
    var kept = ""
    var used = 0
    for character in text {
      let width = width(of: character)
      guard used + width <= limit - 1 else { break }
      kept.append(character)
      used += width
    }
    return kept + "…"
  }

  private static func width(of character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    return isWide(first) ? 2 : 1
  }

  /// The blocks that Unicode's annex 11 calls wide or fullwidth, in broad strokes.
  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}
