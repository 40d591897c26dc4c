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
