@_spi(_Unicode) import Swift

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

extension String {
  /// The text in its composed form (NFC), in which the database keeps names: programs write one name in two forms, an e
  /// with an accent as one character or as two.
  public var composed: String {
    guard !utf8.allSatisfy({ $0 < 0x80 }) else { return self }
    var scalars = UnicodeScalarView()
    for scalar in _nfc { scalars.append(scalar) }
    return String(scalars)
  }
}

/// File names as texts and back. A name is bytes, which need not be UTF-8: for each byte that is not, a character of its
/// own stands in the text, so that the file is found again and no two names become one.
///
/// The stand-ins are U+EF80 to U+EFFF, of the area for private use. One that a name really has is written by the stand-ins
/// of its three bytes.
public enum FileName {
  private static let standIns: ClosedRange<UInt32> = 0xEF80...0xEFFF
  private static let standInOfZero: UInt32 = 0xEF00

  /// The text of a name.
  public static func text(_ name: some Collection<UInt8>) -> String {
    let bytes = Array(name)
    if let text = String(validating: bytes, as: UTF8.self), !hasStandIn(text) { return text }
    var text = String.UnicodeScalarView()
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var position = 0
    func standIn(for count: Int) {
      for byte in bytes[position..<position + count] {
        if let scalar = Unicode.Scalar(standInOfZero + UInt32(byte)) { text.append(scalar) }
      }
      position += count
    }
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        guard standIns.contains(scalar.value) else {
          text.append(scalar)
          position += encoded.count
          continue
        }
        standIn(for: encoded.count)
      case .error(let length): standIn(for: length)
      case .emptyInput: return String(text)
      }
    }
  }

  /// The name that a text stands for.
  public static func bytes(_ text: String) -> [UInt8] {
    guard hasStandIn(text) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap { scalar in
      standIns.contains(scalar.value)
        ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(String(Character(scalar)).utf8)
    }
  }

  /// The name as a C function takes it, with a zero at its end.
  public static func cString(_ text: String) -> [CChar] {
    bytes(text).map { CChar(bitPattern: $0) } + [0]
  }

  /// The name as it is shown and stored: with U+FFFD where it is not UTF-8.
  public static func shown(_ text: String) -> String {
    hasStandIn(text) ? String(decoding: bytes(text), as: UTF8.self) : text
  }

  private static func hasStandIn(_ text: String) -> Bool {
    text.unicodeScalars.contains { standIns.contains($0.value) }
  }
}

/// The candidate nearest to what was typed, if it is near enough to be a slip: at most a third of its
/// length in changes. Of two equally near ones the first in the list is taken.
public func nearest(to typed: String, among candidates: [String]) -> String? {
  let measured = candidates.map { (text: $0, distance: editDistance(typed.lowercased(), $0.lowercased())) }
  guard let best = measured.min(by: { $0.distance < $1.distance }) else { return nil }
  let allowance = max(1, max(best.text.count, typed.count) / 3)
  return best.distance <= allowance && best.distance < best.text.count ? best.text : nil
}

/// How many insertions, deletions, replacements and swaps of neighbours turn one text into the other.
private func editDistance(_ first: String, _ second: String) -> Int {
  let a = Array(first.unicodeScalars.prefix(64))
  let b = Array(second.unicodeScalars.prefix(64))
  var older: [Int] = []
  var previous = Array(0...b.count)
  for i in a.indices {
    var current = [i + 1]
    for j in b.indices {
      let replaced = previous[j] + (a[i] == b[j] ? 0 : 1)
      var best = min(replaced, previous[j + 1] + 1, current[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, older[j - 1] + 1) }
      current.append(best)
    }
    older = previous
    previous = current
  }
  return previous[b.count]
}
