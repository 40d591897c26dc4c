import TestSupport
import Testing

@testable import Support

@Suite("Text from outside is shown")
struct PrintableTests {
  @Test("nothing that could fool a reader is printed", arguments: HostileText.all)
  func hostile(text: HostileText) {
    let shown = printable(text.text)
    #expect(HostileText.found(in: shown) == [])
    let letters = String(repeating: "a", count: text.characters.unicodeScalars.count) + "b"
    #expect(shown.filter { $0 != " " } == letters)
    #expect(text.characters.unicodeScalars.allSatisfy { !$0.isPrintable })
  }

  @Test(
    "words stay apart, and what is printable stays",
    arguments: [
      ("plain", "plain"), ("Å, 漢字, مرحبا, e\u{301}, 🩺", "Å, 漢字, مرحبا, e\u{301}, 🩺"),
      ("a\u{1B}[31mb", "a[31mb"), ("a\nb\tc\r", "a b c "), ("a\u{202E}gpj.exe", "agpj.exe"),
      ("\u{0}\u{7F}\u{9B}x", "x"), ("a\u{2028}b", "a b"), ("a\u{A0}b\u{3000}c\u{2800}d", "a b c d"),
      ("नमस्ते, สวัสดี, שלום", "नमस्ते, สวัสดี, שלום"),
    ])
  func cleaned(text: String, expected: String) {
    #expect(printable(text) == expected)
  }

  @Test("line ends stay where they are wanted")
  func kept() {
    #expect(printable("a\tb\r\nc\u{85}d\u{1B}", keeping: "\t\r\n") == "a\tb\r\nc d")
  }

  @Test("a text is cut to so many characters, the ellipsis among them")
  func limit() {
    #expect(printable("abcdef", limit: 6) == "abcdef")
    #expect(printable("abcdefg", limit: 6) == "abcde…")
    #expect(printable(String(repeating: "x", count: 1_000_000), limit: 6) == "xxxxx…")
    #expect(printable("a" + String(repeating: "\u{301}", count: 100), limit: 6).unicodeScalars.count == 6)
    #expect(printable(String(repeating: "\u{200B}", count: 100) + "x", limit: 6).unicodeScalars.count <= 6)
  }

  @Test(
    "East Asian characters and pictures take two columns",
    arguments: [("abc", 3), ("日本", 4), ("é", 1), ("e\u{301}", 1), ("👩‍⚕️", 2), ("한", 2), ("", 0)])
  func widths(text: String, width: Int) {
    #expect(displayWidth(text) == width)
  }

  @Test(
    "a cut text never takes more than its room",
    arguments: [("abcdef", 4, "abc…"), ("日本語", 4, "日…"), ("日本語", 5, "日本…"), ("abc", 3, "abc")])
  func cuts(text: String, width: Int, expected: String) {
    #expect(truncated(text, to: width) == expected)
    #expect(displayWidth(truncated(text, to: width)) <= width)
  }
}
