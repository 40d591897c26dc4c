import Foundation
import Testing

@testable import Endpoint
@testable import Support

@Suite("The JSON reader")
struct JSONReaderTests {
  private func read(_ text: String) throws(JSONFailure) -> JSONValue {
    try JSONReader.read(Array(text.utf8)).value
  }

  private func reason(_ bytes: [UInt8]) -> JSONFailure.Reason? {
    do throws(JSONFailure) {
      _ = try JSONReader.read(bytes)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test(
    "reads what the standard allows",
    arguments: [
      ("null", JSONValue.null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .number(0)),
      ("-0.5e+2", .number(-50)), ("1E3", .number(1000)), ("\"\"", .string("")),
      (#""a\"\\\/\b\f\n\r\t""#, .string("a\"\\/\u{8}\u{C}\n\r\t")), (#""\u00fc\uD83D\uDE00""#, .string("ü😀")),
      ("\"ü😀\"", .string("ü😀")), ("[]", .array([])),
      ("[1, 2 ,\n3]", .array([.number(1), .number(2), .number(3)])),
      ("{}", .object([])), (#"{"a":{"b":null},"c":[]}"#, ["a": ["b": .null], "c": .array([])]),
      ("9007199254740993", .number(9_007_199_254_740_992)), ("1e-400", .number(0)),
      ("\u{FEFF}1", .number(1)),
    ] as [(String, JSONValue)])
  func valid(text: String, value: JSONValue) throws {
    #expect(try read(text) == value)
  }

  @Test(
    "refuses what the standard does not allow",
    arguments: [
      "", " ", "tru", "nul", "truex", "01", "1.", ".5", "+1", "-", "1e", "0x10", "NaN", "Infinity", "'a'",
      "\"a",
      "[", "]", "[1", "[1,", "[1,]", "[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}",
      "{\"a\" 1}", "1 1", "[] []", "// x\n1", "\u{FEFF}\u{FEFF}1", "1\u{FEFF}", "\"a\nb\"", "\"\u{0}\"",
      #""\x41""#, #""\u12""#,
      #""\u12G4""#, #""\uD83D""#, #""\uD83Dx""#, #""\uDE00""#, #""\uD83D\uD83D""#, #""\u"#, #""\"#,
    ])
  func invalid(text: String) {
    #expect(reason(Array(text.utf8)) != nil)
  }

  @Test("refuses an object that names a field twice, also when it has many and when an escape hides it")
  func duplicates() {
    #expect(reason(Array(#"{"a":1,"a":1}"#.utf8)) == .duplicateName)
    #expect(reason(Array(#"{"a":1,"\u0061":1}"#.utf8)) == .duplicateName)
    for twin in [0, 15, 16, 17, 39] {
      let names = (0..<40).map { "\"n\($0)\":0" } + ["\"n\(twin)\":0"]
      #expect(reason(Array("{\(names.joined(separator: ","))}".utf8)) == .duplicateName)
    }
    #expect(reason(Array(#"{"a":{"a":{"a":1}}}"#.utf8)) == nil)
  }

  @Test(
    "refuses numbers beyond the range of a double",
    arguments: ["1e309", "-1e999", "1\(String(repeating: "0", count: 400))"])
  func hugeNumbers(text: String) {
    #expect(reason(Array(text.utf8)) == .invalidNumber)
  }

  @Test(
    "refuses bytes that are not UTF-8",
    arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]])
  func invalidText(bytes: [UInt8]) {
    #expect(reason([0x22] + bytes + [0x22]) == .invalidText)
    #expect(reason([0x22, 0x5C, 0x6E] + bytes + [0x22]) == .invalidText)
  }

  @Test(
    "finds what is odd at each place of a text, whatever follows it", arguments: ["", #","b":"ü and more"}"#])
  func places(rest: String) {
    for place in 0..<20 {
      let text = [UInt8](repeating: UInt8(ascii: "x"), count: place)
      func read(_ odd: [UInt8]) -> Result<JSONPart, JSONFailure> {
        Result { () throws(JSONFailure) in
          let end = rest.isEmpty ? Array("\"}".utf8) : Array("\"\(rest)".utf8)
          return try JSONReader.read(Array(#"{"a":""#.utf8) + text + odd + text + end)
        }
      }
      func failure(_ odd: [UInt8]) -> JSONFailure? {
        guard case .failure(let failure) = read(odd) else { return nil }
        return failure
      }
      for bytes in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]] {
        #expect(failure(bytes)?.reason == .invalidText && failure(bytes)?.offset == 6, "\(bytes) at \(place)")
      }
      for byte in [0x00, 0x0A, 0x1F] as [UInt8] {
        #expect(failure([byte])?.reason == .invalidText && failure([byte])?.offset == 6 + place)
      }
      let x = String(repeating: "x", count: place)
      for (odd, character) in [
        (#"\u00fc"#, "ü"), ("ü", "ü"), ("\u{7F}", "\u{7F}"), (#"\""#, "\""), ("😀", "😀"),
      ] {
        let part = try? read(Array(odd.utf8)).get()["a"]
        #expect(part?.text == x + character + x)
        #expect(part?.isPlainText == false)
      }
      let plain = try? read([]).get()["a"]
      #expect(plain?.text == x + x && plain?.isPlainText == true)
    }
  }

  @Test("finds a name however it is written, and tells a name with null from none")
  func names() throws {
    let part = try JSONReader.read(
      Array(#"{"\u0069d":1,"naïve":2,"x":null,"list":[{"a":1},[2,[3]],"b"],"last":true}"#.utf8))
    #expect(part["id"]?.number == 1 && part["last"]?.bool == true && part.memberCount == 5)
    #expect(part["x"] == nil && part.has("x") && !part.has("y"))
    let list = try #require(part["list"]?.elements)
    #expect(list.count == 3 && list.map(\.value) == [["a": .number(1)], [.number(2), [.number(3)]], "b"])
    #expect(part["list"]?["a"] == nil && part["last"]?.elements == nil && part["list"]?.memberCount == nil)
  }

  @Test("reads nesting up to its limit and refuses more, a megabyte of brackets among it")
  func depth() {
    func nested(_ count: Int) -> [UInt8] {
      Array((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
    }
    #expect(reason(nested(JSONReader.greatestDepth)) == nil)
    #expect(reason(nested(JSONReader.greatestDepth + 1)) == .tooDeep)
    #expect(reason([UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)) == .tooDeep)
    let objects = String(repeating: #"{"a":"#, count: 200_000)
    #expect(reason(Array(objects.utf8)) == .tooDeep)
  }

  @Test("reads what the writer writes, and so does Foundation")
  func roundTrip() throws {
    let value: JSONValue = [
      "text": .string("a\"\\\u{1}\n\u{7F}ü😀/"), "whole": .number(12), "part": .number(0.1),
      "no": .bool(false),
      "nothing": .null, "list": .array([.number(-3), ["x": .string("")]]), "large": .number(1e300),
    ]
    let bytes = value.bytes
    #expect(try JSONReader.read(bytes).value == value)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    #expect(object["text"] as? String == "a\"\\\u{1}\n\u{7F}ü😀/")
    #expect(object["part"] as? Double == 0.1)
    #expect(object["large"] as? Double == 1e300)
  }
}
