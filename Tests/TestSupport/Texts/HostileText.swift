/// A text with characters by which it can fool its reader: they move the cursor, hide words, turn their order round, or
/// make two texts look like one. Every view, log, CSV, JSON and reference is shown all of these.
public struct HostileText: Sendable, CustomStringConvertible {
  /// What the characters are.
  public let description: String
  /// The characters alone.
  public let characters: String

  /// The characters with a letter before each and one after the last.
  public var text: String {
    characters.unicodeScalars.map { "a\($0)" }.joined() + "b"
  }

  init(_ description: String, _ characters: String) {
    self.description = description
    self.characters = characters
  }

  /// All of them.
  public static let all = [
    HostileText(
      "control characters", "\u{1}\u{7}\u{8}\u{B}\u{C}\u{E}\u{1B}\u{1F}\u{7F}\u{80}\u{84}\u{90}\u{9B}\u{9F}"),
    HostileText("line breaks and tabs", "\t\n\r\u{85}\u{2028}\u{2029}"),
    HostileText("overrides and embeddings of direction", "\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}"),
    HostileText("isolates of direction", "\u{2066}\u{2067}\u{2068}\u{2069}"),
    HostileText("marks of direction", "\u{61C}\u{200E}\u{200F}"),
    HostileText("characters without a width", "\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}"),
    HostileText(
      "hyphens and separators that are not seen", "\u{AD}\u{180E}\u{2061}\u{2062}\u{2063}\u{2064}\u{34F}"),
    HostileText("fillers", "\u{115F}\u{1160}\u{3164}\u{FFA0}\u{17B4}\u{17B5}"),
    HostileText("selectors of variants", "\u{180B}\u{180F}\u{FE00}\u{FE0F}\u{E0100}\u{E01EF}"),
    HostileText("tags", "\u{E0001}\u{E0020}\u{E0041}\u{E007F}"),
    HostileText(
      "other format characters", "\u{600}\u{6DD}\u{70F}\u{8E2}\u{206A}\u{206F}\u{FFF9}\u{FFFA}\u{FFFB}"),
    HostileText("format characters beyond 16 bits", "\u{110BD}\u{13430}\u{1BCA0}\u{1D173}\u{1D17A}"),
    HostileText("spaces", "\u{A0}\u{1680}\u{2000}\u{2003}\u{2007}\u{200A}\u{202F}\u{205F}\u{3000}\u{2800}"),
    HostileText("private characters", "\u{E000}\u{F8FF}\u{F0000}\u{10FFFD}"),
    // The compiler takes no literal of these.
    HostileText(
      "characters that are none",
      String(
        String.UnicodeScalarView([0x378, 0xFDD0, 0xFFFE, 0xE0FFF, 0x10FFFF].compactMap(Unicode.Scalar.init)))),
  ]

  /// Which hostile characters a shown text has, by their numbers.
  public static func found(in shown: String, except allowed: String = "") -> [String] {
    let hostile = Set(all.flatMap(\.characters.unicodeScalars)).subtracting(allowed.unicodeScalars)
    return shown.unicodeScalars.filter(hostile.contains).map { String($0.value, radix: 16) }
  }
}
