import Testing

@testable import Support

@Suite("File names as texts")
struct FileNameTests {
  @Test(
    "every name comes back as it was, and is shown with replacement characters where it is not UTF-8",
    arguments: [
      (Array("photo.jpg".utf8), "photo.jpg"), (Array("é ü 写真.jpg".utf8), "é ü 写真.jpg"), ([], ""),
      ([0x63, 0x61, 0x66, 0xE9, 0x2E, 0x6A, 0x70, 0x67], "caf\u{FFFD}.jpg"),
      ([0xFF, 0xFE, 0x41], "\u{FFFD}\u{FFFD}A"), ([0x41, 0xE2, 0x82], "A\u{FFFD}"),
      ([0xC0, 0xAF], "\u{FFFD}\u{FFFD}"), ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
      // A name that really has one of the characters that stand in for bytes.
      (Array("\u{EFE9}.jpg".utf8), "\u{EFE9}.jpg"),
    ] as [([UInt8], String)])
  func roundTrip(name: [UInt8], shown: String) {
    let text = FileName.text(name)
    #expect(FileName.bytes(text) == name)
    #expect(FileName.cString(text) == name.map { CChar(bitPattern: $0) } + [0])
    #expect(FileName.shown(text) == shown)
  }

  @Test("no two names have the same text, for every name of two bytes")
  func distinct() {
    var texts: Set<String> = []
    for first in UInt8(1)...255 {
      for second in UInt8(1)...255 {
        let text = FileName.text([first, second])
        #expect(FileName.bytes(text) == [first, second])
        texts.insert(text)
      }
    }
    // Strings are equal by what they mean; bytes are compared above.
    #expect(texts.count > 255 * 254)
  }
}
