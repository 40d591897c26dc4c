import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("Values are written")
struct PresentationTests {
  @Test("JSON keeps its members' order and stays on one line")
  func json() {
    let value: JSONValue = [
      "z": 1, "a": .null, "list": [true, "x"], "empty": [], "decimal": .number(0.5),
      "none": .number(.infinity), "count": .count(Int16(7)),
    ]
    #expect(
      value.json
        == #"{"z":1,"a":null,"list":[true,"x"],"empty":[],"decimal":0.5,"none":null,"count":7}"#)
  }

  @Test(
    "JSON has nothing that hides text or turns its order round, and means the same",
    arguments: HostileText.all)
  func hostile(hostile: HostileText) throws {
    let text = hostile.text
    let written = JSONValue.string(text)
    #expect(try decoded(written) == text)
    let object = JSONValue.object([JSONValue.Member(name: text, value: .raw(written.json))])
    #expect(try JSONDecoder().decode([String: String].self, from: Data(object.json.utf8)) == [text: text])
    #expect(HostileText.found(in: object.json) == [])
  }

  @Test("facts have nothing that hides text or turns its order round", arguments: HostileText.all)
  func hostileFacts(hostile: HostileText) {
    let facts = Facts([("a", hostile.text), ("b", "\u{1B}[2J\(hostile.text)\u{1B}[0m")])
    #expect(HostileText.found(in: facts.text, except: "\n") == [])
  }

  @Test("JSON that is there already keeps its white space")
  func whiteSpace() {
    #expect(JSONValue.raw("{\t\"a\": 1 }").json == "{\t\"a\": 1 }")
  }

  private func decoded(_ value: JSONValue) throws -> String {
    try JSONDecoder().decode(String.self, from: Data(value.json.utf8))
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
    facts.add("b", "red")
    facts.colour("b", .red, Paint(true))
    #expect(facts.text == "a     1\nlong  x[2Jy\nb     \u{1B}[31mred\u{1B}[0m\n")
  }
}
