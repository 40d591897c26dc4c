/// The text without what could move the cursor, hide words or turn their order round on a terminal:
/// control characters (a tab or a line break becomes a space), bidirectional overrides and isolates,
/// line and paragraph separators, and invisible characters.
public func printable(_ text: String) -> String {
  if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
  var clean = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D, 0x85, 0x2028, 0x2029: clean.append(" ")
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF,
      0xFFF9...0xFFFB, 0xE0000...0xE007F:
      continue
    default: clean.append(scalar)
    }
  }
  return String(clean)
}

/// As much of a foreign text as may stand in a message: printable, and at most so many Unicode scalars (a single
/// character can be made of thousands).
public func printable(_ text: String, limit: Int) -> String {
  let clean = printable(text)
  guard clean.unicodeScalars.count > limit else { return clean }
  return String(String.UnicodeScalarView(clean.unicodeScalars.prefix(limit - 1))) + "…"
}
