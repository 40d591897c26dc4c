import Foundation
import TestSupport
import Testing

@testable import Support

@Suite("JSON is written")
struct JSONWriterTests {
  @Test(
    "texts are escaped",
    arguments: [
      ("", #""""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
      ("\u{0}\u{1B}[31m\u{7F}", #""\u0000\u001b[31m\u007f""#),
      ("\u{2028}\u{9B}", #""\u2028\u009b""#), ("\u{202E}\u{E0061}", #""\u202e\udb40\udc61""#),
      ("zoë 😀 漢", "\"zoë 😀 漢\""), ("é\nè", #""é\nè""#),
    ])
  func escapes(text: String, expected: String) {
    #expect(written(text) == expected)
  }

  @Test("a hostile text shows nothing but what is printable, and means the same", arguments: HostileText.all)
  func hostile(text: HostileText) throws {
    #expect(HostileText.found(in: written(text.text)) == [])
    #expect(try JSONDecoder().decode(String.self, from: Data(written(text.text).utf8)) == text.text)
  }

  @Test("JSON of somebody else keeps its white space and its meaning", arguments: HostileText.all)
  func foreign(text: HostileText) throws {
    let given = "{\t\"a\":\n \"\(text.characters.unicodeScalars.filter { $0.value >= 0x20 })\" }\n"
    var json = JSONWriter()
    json.foreign(given)
    let shown = String(decoding: json.bytes, as: UTF8.self)
    #expect(HostileText.found(in: shown, except: "\t\n") == [])
    let decoder = JSONDecoder()
    #expect(
      try decoder.decode([String: String].self, from: Data(json.bytes))
        == decoder.decode([String: String].self, from: Data(given.utf8)))
  }

  @Test("bytes that are no UTF-8 become U+FFFD")
  func invalid() {
    var bytes: [UInt8] = []
    ([0x61, 0xFF, 0xE2, 0x80, 0x62] as [UInt8]).withUnsafeBufferPointer {
      JSONWriter.append(utf8: $0, to: &bytes)
    }
    #expect(String(decoding: bytes, as: UTF8.self) == "\"a\\ufffd\\ufffdb\"")
  }

  @Test("arrays have commas between their elements")
  func arrays() {
    var json = JSONWriter(Array("x:".utf8))
    json.array([true, false]) { $0.boolean($1) }
    json.array([String]()) { $0.string($1) }
    #expect(String(decoding: json.bytes, as: UTF8.self) == "x:[true,false][]")
  }

  private func written(_ text: String) -> String {
    var json = JSONWriter()
    json.string(text)
    return String(decoding: json.bytes, as: UTF8.self)
  }
}
