/// A text of at most `limit` characters, without control characters, bidirectional overrides and what is
/// invisible; a line break or tab becomes a space.
func cleaned(_ text: String, limit: Int = 2000) -> String {
  var clean = String.UnicodeScalarView()
  var count = 0
  for scalar in text.unicodeScalars {
    if count == limit {
      clean.append("…")
      break
    }
    switch scalar.value {
    case 0x09, 0x0A, 0x0D, 0x85, 0x2028, 0x2029: clean.append(" ")
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF,
      0xFFF9...0xFFFB, 0xE0000...0xE007F:
      continue
    default: clean.append(scalar)
    }
    count += 1
  }
  return String(clean)
}
