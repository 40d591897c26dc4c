import Foundation
import Testing

@testable import ControlCommands

@Suite("Values are written")
struct PresentationTests {
  @Test("JSON keeps its members' order and stays on one line")
  func json() {
    let value: JSONValue = [
      "z": 1, "a": .null, "list": [true, "x"], "empty": [], "decimal": .decimal(0.5),
      "none": .decimal(.infinity), "count": .count(Int16(7)),
    ]
    #expect(
      value.text
        == #"{"z":1,"a":null,"list":[true,"x"],"empty":[],"decimal":0.5,"none":null,"count":7}"#)
  }

  @Test(
    "JSON texts are escaped",
    arguments: [
      ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
      ("\u{0}\u{1B}[31m\u{7F}", #""\u0000\u001b[31m\u007f""#),
      ("\u{2028}\u{9B}", #""\u2028\u009b""#), ("\u{202E}\u{E0061}", #""\u202e\udb40\udc61""#),
      ("zoë 😀", "\"zoë 😀\""),
    ])
  func escapes(text: String, expected: String) {
    #expect(JSONValue.string(text).text == expected)
  }

  @Test(
    "JSON has nothing that hides text or turns its order round, and means the same",
    arguments: [
      "\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}", "\u{2066}\u{2067}\u{2068}\u{2069}",
      "\u{200B}\u{200C}\u{200D}\u{200E}\u{200F}\u{2060}\u{FEFF}",
      "\u{AD}\u{61C}\u{600}\u{180E}\u{206F}\u{FFF9}",
      "\u{E0001}\u{E0061}\u{110BD}\u{1D173}",
    ])
  func invisible(marks: String) throws {
    let text = marks.unicodeScalars.map { "a\($0)b" }.joined()
    let written = ["\"\(text)\"", JSONValue.string(text).text]
    let values: [JSONValue] = [
      .string(text), .raw(written[0]), .object([JSONValue.Member(name: text, value: .raw(written[1]))]),
    ]
    for value in values {
      #expect(
        !value.text.unicodeScalars.contains { $0.properties.generalCategory == .format }, "\(value.text)")
    }
    #expect(try decoded(values[0]) == text)
    #expect(try decoded(values[1]) == text)
    let object = try JSONDecoder().decode([String: String].self, from: Data(values[2].text.utf8))
    #expect(object.map { $0 == text && $1 == text } == [true])
  }

  @Test("JSON that is there already keeps its white space")
  func whiteSpace() {
    #expect(JSONValue.raw("{\t\"a\": 1 }").text == "{\t\"a\": 1 }")
  }

  private func decoded(_ value: JSONValue) throws -> String {
    try JSONDecoder().decode(String.self, from: Data(value.text.utf8))
  }

  @Test(
    "moments in RFC 3339 and in short",
    arguments: [
      (0.0, "1970-01-01T00:00:00.000Z", "1970-01-01 00:00:00Z"),
      (1_790_812_800.25, "2026-10-01T00:00:00.250Z", "2026-10-01 00:00:00Z"),
      (-0.5, "1969-12-31T23:59:59.500Z", "1969-12-31 23:59:59Z"),
    ])
  func moments(seconds: Double, exact: String, short: String) {
    #expect(Moment.exact(seconds) == exact)
    #expect(Moment.short(seconds) == short)
  }

  @Test("infinite moments and none are empty", arguments: [Double.infinity, -.infinity, .nan, 1e20])
  func noMoment(seconds: Double) {
    #expect(Moment.exact(seconds) == nil)
    #expect(Moment.short(seconds) == "")
    #expect(Moment.short(nil) == "")
  }

  @Test(
    "lengths of time in the largest fitting unit",
    arguments: [
      (0.4, "0 s"), (59, "59 s"), (119.9, "119 s"), (120, "2 min"), (7_199, "119 min"), (7_200, "2 h"),
      (172_799, "47 h"), (172_800, "2 d"), (-3, "0 s"), (.infinity, ""),
    ])
  func ages(seconds: Double, expected: String) {
    #expect(Moment.age(seconds) == expected)
  }

  @Test("facts stand below each other without what is empty or would move the cursor")
  func facts() {
    var facts = Facts([("a", "1"), ("long", "x\u{1B}[2Jy"), ("none", nil), ("empty", "")])
    facts.add("b", "\u{1B}[31mred\u{1B}[0m")
    #expect(facts.text == "a     1\nlong  x[2Jy\nb     \u{1B}[31mred\u{1B}[0m\n")
  }
}
