extension Unicode.Scalar {
  /// Whether a reader sees this character as what it is, wherever it stands.
  ///
  /// False for control and format characters (marks of direction among them), private and unassigned ones, line
  /// separators, spaces other than ASCII's, and what Unicode lets a program leave out (fillers, variation selectors).
  /// This is the only list of such characters in Swift; `analysis.hidden_characters()` is the same for the database.
  public var isPrintable: Bool {
    if value < 0x80 { return (0x20...0x7E).contains(value) }
    switch properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
      .spaceSeparator:
      return false
    default: return !properties.isDefaultIgnorableCodePoint && !isEmptyPattern
    }
  }

  /// Braille's pattern without a dot is a symbol to Unicode, and a blank to its reader.
  private var isEmptyPattern: Bool { value == 0x2800 }

  /// Whether words to both sides of it stay apart.
  fileprivate var isBlank: Bool { properties.isWhitespace || isEmptyPattern }
}

/// The text without what could move the cursor, hide words or turn their order round.
///
/// A tab, a line break and any other blank become a space.
public func printable(_ text: String) -> String {
  printable(text, keeping: "")
}

/// The printable text, in which some characters stay that are not: those that end a line, for instance.
public func printable(_ text: String, keeping kept: String) -> String {
  if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
  var clean = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    if scalar.isPrintable || kept.unicodeScalars.contains(scalar) {
      clean.append(scalar)
    } else if scalar.isBlank {
      clean.append(" ")
    }
  }
  return String(clean)
}

/// As much of a foreign text as may stand in a message: printable, and at most so many Unicode scalars (a single
/// character can be made of thousands).
public func printable(_ text: String, limit: Int) -> String {
  let scalars = text.unicodeScalars
  // What is cut off is not looked at: a text may be as long as a server's answer.
  let clean = printable(String(scalars.prefix(4 * limit))).unicodeScalars
  guard clean.count > limit || !scalars.dropFirst(4 * limit).isEmpty else { return String(clean) }
  return String(String.UnicodeScalarView(clean.prefix(limit - 1))) + "…"
}

/// How many columns a terminal gives a text: none for combining marks, two for East Asian wide characters
/// and emoji, one for the rest.
public func displayWidth(_ text: String) -> Int {
  if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
  return text.reduce(0) { $0 + displayWidth($1) }
}

private func displayWidth(_ character: Character) -> Int {
  guard let scalar = character.unicodeScalars.first else { return 0 }
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format, .control: return 0
  default: break
  }
  if scalar.properties.isEmojiPresentation { return 2 }
  switch scalar.value {
  case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
    0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
    return 2
  default: return 1
  }
}

/// The text cut to a width, with an ellipsis where something is left out.
public func truncated(_ text: String, to width: Int) -> String {
  guard displayWidth(text) > width else { return text }
  guard width > 0 else { return "" }
  var kept = ""
  var used = 0
  for character in text {
    let columns = displayWidth(String(character))
    guard used + columns <= width - 1 else { break }
    kept.append(character)
    used += columns
  }
  return kept + "…"
}
